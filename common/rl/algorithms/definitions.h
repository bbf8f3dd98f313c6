#pragma once

#include "common/config/experiment/algorithm_definition.h"

namespace waggle {

// The parts of shipped algorithms that need no tensor library: NAME_definition(), in NAME/definition.cc.
#define WAGGLE_ALGORITHM(name) AlgorithmDefinition name##_definition();
#include "common/rl/algorithms/list.inc"
#undef WAGGLE_ALGORITHM

AlgorithmDefinitions BuiltinAlgorithmDefinitions();

}  // namespace waggle
