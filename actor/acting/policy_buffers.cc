#include "actor/acting/policy_buffers.h"

#include <cstddef>

#include "common/config/spec/environment_spec.h"

namespace waggle {

PolicyBuffers::PolicyBuffers(const Policy& policy, const std::vector<SpaceLeaf>& actions, int64_t lanes)
    : actions_(ArraysOf(actions), lanes),
      columns_(policy.columns(), lanes),
      private_values_(static_cast<size_t>(lanes) * policy.private_columns().size()) {
  output_.actions = actions_.pointers();
  output_.columns = columns_.pointers();
  output_.private_values = private_values_.data();
}

}  // namespace waggle
