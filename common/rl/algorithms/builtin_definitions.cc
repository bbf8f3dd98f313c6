#include "common/base/check.h"
#include "common/rl/algorithms/apex_dqn_definition.h"
#include "common/rl/algorithms/builtin.h"

namespace waggle {

AlgorithmDefinitions BuiltinAlgorithmDefinitions() {
  AlgorithmDefinitions definitions("algorithm");
  WAGGLE_CHECK(definitions.Register("apex_dqn", ApexDqnDefinition()).ok(), "two algorithms that ship have one name");
  return definitions;
}

}  // namespace waggle
