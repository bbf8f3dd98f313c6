#pragma once

#include <string>

// What gRPC itself has to say, which it would write to the standard error stream in a form of its own.

namespace waggle {

// From now on gRPC's lines are ours: of the same level (which of them come, GRPC_VERBOSITY says: errors alone unless
// it is set), with gRPC's file and line before them. Thread-safe; idempotent.
void TakeGrpcLog();

// While it lives, what gRPC says in this thread is kept instead of logged: for calls whose error says all of it.
class KeptGrpcLog {
 public:
  KeptGrpcLog();
  ~KeptGrpcLog();
  KeptGrpcLog(const KeptGrpcLog&) = delete;
  KeptGrpcLog& operator=(const KeptGrpcLog&) = delete;

  // Line after line.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string* const outer_;
};

}  // namespace waggle
