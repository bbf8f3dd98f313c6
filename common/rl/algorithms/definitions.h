#pragma once

#include "common/experiment/algorithm_definition.h"

namespace waggle {

// What can be said of each algorithm that ships without a tensor library: NAME_definition(), in NAME/definition.cc.
#define WAGGLE_ALGORITHM(name) AlgorithmDefinition name##_definition();
#include "common/rl/algorithms/list.inc"
#undef WAGGLE_ALGORITHM

// All of them, by name.
AlgorithmDefinitions BuiltinAlgorithmDefinitions();

}  // namespace waggle
