#include "common/base/check.h"
#include "common/rl/algorithm.h"
#include "common/rl/algorithms/apex_dqn.h"
#include "common/rl/algorithms/builtin.h"
#include "common/rl/algorithms/dqn_policy.h"

namespace waggle {

AlgorithmImplementations BuiltinAlgorithms() {
  AlgorithmImplementations algorithms("algorithm");
  WAGGLE_CHECK(algorithms.Register("apex_dqn", {ApexDqn::Create, DqnPolicy::Create}).ok(),
               "two algorithms that ship have one name");
  return algorithms;
}

}  // namespace waggle
