#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/hub/ports/model.h"
#include "common/nn/flat_parameters.h"

namespace waggle {

// A network's parameters. The name begins those of its tensors if several networks are published together.
struct NamedParameters {
  std::string network;
  FlatParameters* parameters = nullptr;
};

// The published form of networks' parameters, one after the other: one copy to the CPU. The caller sets the snapshot's
// `model` and `version`.
absl::StatusOr<ModelSnapshot> EncodeWeights(const std::vector<NamedParameters>& networks, uint64_t network_hash);

// Copies a snapshot's values into the networks' parameters. FAILED_PRECONDITION, with both sides in the message, if it
// is another network's; INVALID_ARGUMENT for values that are not finite or data of the wrong size. Errors change
// nothing.
absl::Status DecodeWeights(const ModelSnapshot& snapshot, uint64_t network_hash,
                           const std::vector<NamedParameters>& networks);

}  // namespace waggle
