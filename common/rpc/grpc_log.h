#pragma once

// gRPC as a process has it: what it has to say, which it would write to the standard error stream in a form of its own,
// and how long it lives.

namespace waggle {

// From now on gRPC's lines are ours: of the same level (which of them come, GRPC_VERBOSITY says: errors alone unless
// it is set), with gRPC's file and line before them. Thread-safe; idempotent.
void TakeGrpcLog();

// Keeps gRPC from being shut down with its last server or channel, for as long as the process lives. It would join a
// thread of its own that polls for up to ten seconds, for connections that are gone (1.51): large messages start one.
void KeepGrpc();

}  // namespace waggle
