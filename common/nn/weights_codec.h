#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/hub/ports/model.h"
#include "common/nn/flat_parameters.h"

namespace waggle {

// The parameters' published form: one copy to the CPU. The caller sets the snapshot's `model` and `version`.
absl::StatusOr<ModelSnapshot> EncodeWeights(const FlatParameters& parameters, uint64_t network_hash);

// Copies a snapshot's values into the parameters. FAILED_PRECONDITION, with both sides in the message, if it is another
// network's; INVALID_ARGUMENT for values that are not finite or data of the wrong size. Errors change nothing.
absl::Status DecodeWeights(const ModelSnapshot& snapshot, uint64_t network_hash, FlatParameters* parameters);

}  // namespace waggle
