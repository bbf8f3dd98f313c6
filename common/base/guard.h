#pragma once

#include <exception>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/reason.h"

namespace waggle {

// What memory that ran out becomes. Made before that: a copy takes none.
inline const absl::Status& NoMemory() {
  static const absl::Status* const status = new absl::Status(
      WithReason(reasons::kOutOfMemory, absl::ResourceExhaustedError("there is no memory for this message")));
  return *status;
}

// Calls `work` where nobody else would take what it throws. What one of gRPC's reactions throws the library swallows,
// and whatever would have come after it never does; a thread of ours would end the process: here it becomes a status
// with which to end the stream, or the call. RESOURCE_EXHAUSTED where memory ran out; anything else is a bug, INTERNAL.
template <class Work>
absl::Status Guarded(const Work& work) {
  const absl::Status& no_memory = NoMemory();
  try {
    work();
    return absl::OkStatus();
  } catch (const std::bad_alloc&) {
    return no_memory;
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
