#pragma once

#include <exception>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace waggle {

// Calls `work` and converts an exception, which is a bug, to INTERNAL, so that the call can be ended: gRPC swallows
// exceptions of reactions, and the call would never end.
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
