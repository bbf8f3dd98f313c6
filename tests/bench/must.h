#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/check.h"

namespace waggle::bench {

// A benchmark that fails has no result: it ends with the message.
inline void Must(const absl::Status& status) {
  WAGGLE_CHECK(status.ok(), status.ToString());
}

template <class T>
T Must(absl::StatusOr<T> value) {
  WAGGLE_CHECK(value.ok(), value.status().ToString());
  return *std::move(value);
}

}  // namespace waggle::bench
