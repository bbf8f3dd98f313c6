#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/hub/ports/gradients.h"
#include "waggle/v1/gradient.pb.h"

// The gradient server's messages to and from the types of its ports.

namespace waggle {

// The header of a push; `request`, `checksum` and `experiment_id` are left to the caller.
v1::GradientHeader ToProto(const GradientPush& push);
// Without the numbers, one for each of the groups' elements. INVALID_ARGUMENT for impossible groups or members, and if
// the announced size is not theirs.
absl::StatusOr<GradientPush> FromProto(const v1::GradientHeader& proto);

// `request` is left to the caller.
v1::PushGradientResponse ToProto(const GradientAnswer& answer);
// INVALID_ARGUMENT unless it answers a push of `members`.
absl::StatusOr<GradientAnswer> FromProto(const v1::PushGradientResponse& proto, size_t members);

}  // namespace waggle
