#pragma once

#include "common/config/plan/algorithm_plan.h"
#include "common/config/plan/network_plan.h"

namespace waggle {

// The head of a network that chooses actions, if no policy of the algorithm's own does; null if none or several can.
const HeadPlan* ActingHead(const NetworkNeed& need, const NetworkPlan& network);

}  // namespace waggle
