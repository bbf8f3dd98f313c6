#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

// Why something was refused, in one word beside a status's code, for counting and for programs: messages are for people
// only. docs/errors.md says what each means.

namespace waggle {

namespace reasons {

// Of any service.
inline constexpr absl::string_view kMalformedMessage = "malformed_message";
inline constexpr absl::string_view kMessageTooLarge = "message_too_large";

// Of the parameter server: weights that are not newer than what is published, which is a later learner's.
inline constexpr absl::string_view kLaterLearner = "later_learner";

// Where a status keeps it.
inline constexpr absl::string_view kPayload = "waggle/reason";

}  // namespace reasons

// The same status with this reason, unless it has one: the first is the nearest to what was wrong. OK stays OK.
inline absl::Status WithReason(absl::string_view reason, absl::Status status) {
  if (!status.ok() && !status.GetPayload(reasons::kPayload).has_value()) {
    status.SetPayload(reasons::kPayload, absl::Cord(reason));
  }
  return status;
}

template <class T>
absl::StatusOr<T> WithReason(absl::string_view reason, absl::StatusOr<T> result) {
  if (!result.ok()) {
    return WithReason(reason, result.status());
  }
  return result;
}

// Empty where there is none.
inline std::string ReasonOf(const absl::Status& status) {
  const auto reason = status.GetPayload(reasons::kPayload);
  return reason.has_value() ? std::string(*reason) : std::string();
}

}  // namespace waggle
