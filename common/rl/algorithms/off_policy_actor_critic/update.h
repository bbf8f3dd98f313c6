#pragma once

#include "common/rl/kit/batches.h"
#include "common/rl/kit/net.h"
#include "common/rl/kit/update_context.h"

namespace waggle {

// The deterministic policy gradient (Silver et al. 2014, "Deterministic Policy Gradient Algorithms"): the actor climbs
// Q(s, mu(s)) of the first critic, which only passes the gradient on. If the actor and the critics stepped, both
// targets follow. May throw as LibTorch does.
void ClimbCritic(const Transitions& transitions, bool critics_stepped, double target_update_rate, Net* actor,
                 Net* critic, UpdateContext* context);

}  // namespace waggle
