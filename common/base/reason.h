#pragma once

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

// The reason of a refusal in one word, for programs; messages are for people. docs/errors.md has the list.

namespace waggle {

namespace reasons {

// Any service's.
inline constexpr absl::string_view kMalformedMessage = "malformed_message";
inline constexpr absl::string_view kMessageTooLarge = "message_too_large";

// The parameter server's: weights that are not newer than the published ones, which are a later learner's.
inline constexpr absl::string_view kLaterLearner = "later_learner";

// The payload's name in a status.
inline constexpr absl::string_view kPayload = "waggle/reason";

}  // namespace reasons

// Adds the reason to an error that has none: the first reason is the most specific. OK stays OK.
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

// Empty if there is none.
inline std::string ReasonOf(const absl::Status& status) {
  const auto reason = status.GetPayload(reasons::kPayload);
  return reason.has_value() ? std::string(*reason) : std::string();
}

}  // namespace waggle
