#pragma once

#include "common/experiment/algorithm_definition.h"

namespace waggle {

struct AlgorithmImplementation;  // common/rl/algorithm.h, which needs LibTorch.

// Every algorithm that ships, by name: what can be said of it without a tensor library (waggle::algorithm_definitions)
// and what computes (waggle::algorithms). Both have the same names.
AlgorithmDefinitions BuiltinAlgorithmDefinitions();
Registry<AlgorithmImplementation> BuiltinAlgorithms();

}  // namespace waggle
