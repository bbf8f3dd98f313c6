#pragma once

#include "common/rl/kit/algorithm.h"

namespace waggle {

// The computations of shipped algorithms: NAME_implementation(), in NAME/update.cc.
#define WAGGLE_ALGORITHM(name) AlgorithmImplementation name##_implementation();
#include "common/rl/algorithms/list.inc"
#undef WAGGLE_ALGORITHM

// All of them, by the names of BuiltinAlgorithmDefinitions.
AlgorithmImplementations BuiltinAlgorithms();

}  // namespace waggle
