#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/rl/checkpoint/checkpoint_contents.h"
#include "common/rl/checkpoint/saved_weights.h"

namespace waggle {

// Saved arrays by their parameters' names, "NETWORK.PARAMETER"; a learned number has no dot.
using SavedParameters = std::map<std::string, CheckpointArray>;

// The parameters of saved weights, which must not be random. `published`: the names of the networks and learned numbers
// that the experiment publishes, in their order.
SavedParameters ParametersOf(const SavedWeights& weights, const std::vector<std::string>& published);

}  // namespace waggle
