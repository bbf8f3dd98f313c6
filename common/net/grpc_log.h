#pragma once

// Redirects the log of gRPC, and keeps gRPC running.

namespace waggle {

// Writes gRPC's lines to the process's log, with their level, file and line. GRPC_VERBOSITY chooses the lines; by
// default only errors. Thread-safe; idempotent.
void TakeGrpcLog();

// Keeps gRPC from shutting down with its last server or channel. The shutdown of 1.51 joins a thread that polls for up
// to ten seconds for gone connections; large messages start one.
void KeepGrpc();

}  // namespace waggle
