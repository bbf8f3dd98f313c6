#pragma once

#include <cstdint>

#include "common/config/plan/network_plan.h"

namespace waggle {

// NetworkPlan::hash: equal for plans that compute the same.
uint64_t IdentityHash(const NetworkPlan& plan, const EnvironmentSpec& environment);

// NetworkPlan::row_values.
int64_t RowValues(const NetworkPlan& plan);

}  // namespace waggle
