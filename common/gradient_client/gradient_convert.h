#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/api/gradients.h"
#include "waggle/v1/gradient.pb.h"

// The gradient server's messages to and from the types of its ports.

namespace waggle {

// The header of a push; `request`, `checksum` and `experiment_id` are left to the caller.
v1::GradientHeader ToProto(const GradientPush& push);
// Without the numbers, of which there are as many as the groups have elements. INVALID_ARGUMENT for groups or members
// that cannot be, and where the announced size is not theirs.
absl::StatusOr<GradientPush> FromProto(const v1::GradientHeader& proto);

// `request` is left to the caller.
v1::PushGradientResponse ToProto(const GradientAnswer& answer);
// INVALID_ARGUMENT unless it answers a push of `members`.
absl::StatusOr<GradientAnswer> FromProto(const v1::PushGradientResponse& proto, size_t members);

}  // namespace waggle
