#pragma once

#include <cstdint>
#include <vector>

#include "common/config/plan/network_plan.h"

namespace waggle {

// NetworkPlan::hash: equal for plans that compute the same.
uint64_t IdentityHash(const NetworkPlan& plan, const EnvironmentSpec& environment);

// The same for networks that are published together, in their order.
uint64_t IdentityHash(const std::vector<const NetworkPlan*>& networks);

// NetworkPlan::row_values.
int64_t RowValues(const NetworkPlan& plan);

}  // namespace waggle
