#pragma once

#include "absl/strings/string_view.h"

namespace waggle {

[[noreturn]] void CheckFailed(const char* file, int line, const char* expression, absl::string_view reason);

}  // namespace waggle

// Aborts with `reason` where an invariant of our own does not hold. Never for what a peer, a file or a user sends: that
// is an absl::Status.
#define WAGGLE_CHECK(expression, reason)                                \
  do {                                                                  \
    if (!(expression)) {                                                \
      ::waggle::CheckFailed(__FILE__, __LINE__, #expression, (reason)); \
    }                                                                   \
  } while (false)
