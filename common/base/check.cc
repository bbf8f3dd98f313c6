#include "common/base/check.h"

#include <cstdlib>

#include "common/base/log.h"

namespace waggle {

void CheckFailed(const char* file, int line, const char* expression, absl::string_view reason) {
  LogError(file, ":", line, ": a bug in Waggle: ", expression, " does not hold: ", reason);
  std::abort();
}

}  // namespace waggle
