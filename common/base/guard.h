#pragma once

#include <exception>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace waggle {

// Calls `work` where nobody else would take what it throws. What one of gRPC's reactions throws the library swallows,
// and whatever would have come after it never does; a thread of ours would end the process: here it becomes a status
// with which to end the stream, or the call: INTERNAL, as it is a bug.
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
