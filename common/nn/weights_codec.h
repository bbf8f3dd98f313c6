#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/model.h"
#include "common/nn/flat_parameters.h"

namespace waggle {

// The parameters' values as they travel: one copy, to the CPU. `model` and `version` of the snapshot are left to the
// caller.
absl::StatusOr<ModelSnapshot> EncodeWeights(const FlatParameters& parameters, uint64_t network_hash);

// Copies a snapshot's values into the parameters. FAILED_PRECONDITION, with both sides in the message, if it is of
// another network; INVALID_ARGUMENT for a value that is not finite or data of the wrong size. After an error the
// parameters are as before.
absl::Status DecodeWeights(const ModelSnapshot& snapshot, uint64_t network_hash, FlatParameters* parameters);

}  // namespace waggle
