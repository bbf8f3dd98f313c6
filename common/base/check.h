#pragma once

#include "absl/strings/string_view.h"

namespace waggle {

[[noreturn]] void CheckFailed(const char* file, int line, const char* expression, absl::string_view reason);

}  // namespace waggle

// Aborts with `reason` if an invariant of Waggle is broken. Errors of peers, files and users are an absl::Status.
#define WAGGLE_CHECK(expression, reason)                                \
  do {                                                                  \
    if (!(expression)) {                                                \
      ::waggle::CheckFailed(__FILE__, __LINE__, #expression, (reason)); \
    }                                                                   \
  } while (false)
