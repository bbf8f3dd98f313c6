#pragma once

// The log of gRPC, which it would write to the standard error stream in a form of its own, and its end.

namespace waggle {

// Writes gRPC's lines to the process's log from now on, with the same level, after gRPC's file and line. GRPC_VERBOSITY
// chooses the lines; only errors if it is not set. Thread-safe; idempotent.
void TakeGrpcLog();

// Keeps gRPC from being shut down with its last server or channel while the process lives. The shutdown of 1.51 joins a
// thread that polls for up to ten seconds for connections that are gone; large messages start one.
void KeepGrpc();

}  // namespace waggle
