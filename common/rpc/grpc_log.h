#pragma once

// What gRPC itself has to say, which it would write to the standard error stream in a form of its own.

namespace waggle {

// From now on gRPC's lines are ours: of the same level (which of them come, GRPC_VERBOSITY says: errors alone unless
// it is set), with gRPC's file and line before them. Thread-safe; idempotent.
void TakeGrpcLog();

}  // namespace waggle
