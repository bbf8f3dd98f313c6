#include "common/rl/algorithms/implementations.h"

#include "common/base/check.h"
#include "common/rl/modules/implementations.h"

namespace waggle {

AlgorithmImplementations BuiltinAlgorithms() {
  AlgorithmImplementations algorithms("algorithm");
#define WAGGLE_ALGORITHM(name) \
  WAGGLE_CHECK(algorithms.Register(#name, name##_implementation()).ok(), "two algorithms that ship have one name");
#include "common/rl/algorithms/list.inc"
#undef WAGGLE_ALGORITHM
  algorithms.modules = BuiltinModules();
  return algorithms;
}

}  // namespace waggle
