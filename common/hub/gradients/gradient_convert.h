#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/hub/ports/gradients.h"
#include "waggle/v1/gradient.pb.h"

// Converts the gradient server's messages to and from the types of its ports.

namespace waggle {

// The caller sets `request`, `checksum` and `experiment_id`.
v1::GradientHeader ToProto(const GradientPush& push);
// Without the numbers. INVALID_ARGUMENT for impossible groups or members, or if the announced size is not the groups'.
absl::StatusOr<GradientPush> FromProto(const v1::GradientHeader& proto);

// The caller sets `request`.
v1::PushGradientResponse ToProto(const GradientAnswer& answer);
// INVALID_ARGUMENT unless it answers a push of `members`.
absl::StatusOr<GradientAnswer> FromProto(const v1::PushGradientResponse& proto, size_t members);

}  // namespace waggle
