#pragma once

// The only way to include Catch2. LibTorch's headers must come before Catch's: otherwise CHECK is glog's, which aborts
// the whole test program.
#ifdef WAGGLE_TEST_WITH_TORCH
#include "common/nn/torch.h"
#endif
#if __has_include(<catch2/catch.hpp>)
#include <catch2/catch.hpp>
#else
#include <catch2/catch_all.hpp>
using Catch::Approx;
#endif

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace Catch {

// Makes a failed comparison of statuses show their messages.
template <>
struct StringMaker<absl::Status> {
  static std::string convert(const absl::Status& status) { return status.ToString(); }
};
template <>
struct StringMaker<absl::StatusCode> {
  static std::string convert(absl::StatusCode code) { return absl::StatusCodeToString(code); }
};

}  // namespace Catch

namespace waggle::testing {

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;
}
template <class T>
const absl::Status& GetStatus(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

// The value of a StatusOr, which must be OK.
template <class T>
T ValueOf(absl::StatusOr<T> status_or) {
  REQUIRE(status_or.status() == absl::OkStatus());
  return std::move(status_or).value();
}

}  // namespace waggle::testing

#define REQUIRE_OK(expression) REQUIRE(::waggle::testing::GetStatus(expression) == absl::OkStatus())
#define REQUIRE_CODE(expression, expected) REQUIRE(::waggle::testing::GetStatus(expression).code() == (expected))
