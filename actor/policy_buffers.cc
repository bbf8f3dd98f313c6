#include "actor/policy_buffers.h"

#include <cstddef>

namespace waggle {

PolicyBuffers::PolicyBuffers(const Policy& policy, const ArraySpec& action, int64_t lanes)
    : private_values_(static_cast<size_t>(lanes) * policy.private_columns().size()) {
  std::vector<ArraySpec> specs = policy.columns();
  specs.insert(specs.begin(), action);
  for (const ArraySpec& spec : specs) {
    arrays_.emplace_back(static_cast<size_t>(lanes * spec.NumBytes()));
  }
  output_.actions = arrays_[0].data();
  for (size_t i = 1; i < arrays_.size(); ++i) {
    output_.columns.push_back(arrays_[i].data());
  }
  output_.private_values = private_values_.data();
}

}  // namespace waggle
