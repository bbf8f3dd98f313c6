#pragma once

#include "common/rl/algorithm.h"

namespace waggle {

// What computes, for each algorithm that ships: NAME_implementation(), in NAME/update.cc.
#define WAGGLE_ALGORITHM(name) AlgorithmImplementation name##_implementation();
#include "common/rl/algorithms/list.inc"
#undef WAGGLE_ALGORITHM

// All of them, by name: the same names as BuiltinAlgorithmDefinitions.
AlgorithmImplementations BuiltinAlgorithms();

}  // namespace waggle
