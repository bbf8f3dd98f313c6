#include "common/rl/algorithms/definitions.h"

#include "common/base/check.h"
#include "common/rl/modules/definitions.h"

namespace waggle {

AlgorithmDefinitions BuiltinAlgorithmDefinitions() {
  AlgorithmDefinitions definitions("algorithm");
#define WAGGLE_ALGORITHM(name) \
  WAGGLE_CHECK(definitions.Register(#name, name##_definition()).ok(), "two algorithms that ship have one name");
#include "common/rl/algorithms/list.inc"
#undef WAGGLE_ALGORITHM
  definitions.modules = BuiltinModuleDefinitions();
  return definitions;
}

}  // namespace waggle
