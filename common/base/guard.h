#pragma once

#include <exception>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace waggle {

// Calls `work` and turns an exception into a status, with which the stream or the call can be ended: INTERNAL, as it is
// a bug. gRPC swallows an exception of a reaction, and the call would never end.
template <class Work>
absl::Status Guarded(const Work& work) {
  try {
    work();
    return absl::OkStatus();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("an exception while a message was handled: ", error.what()));
  }
}

// The same for work that returns a status.
template <class Work>
absl::Status GuardedStatus(const Work& work) {
  absl::Status status;
  absl::Status thrown = Guarded([&] { status = work(); });
  return thrown.ok() ? status : thrown;
}

}  // namespace waggle
