#pragma once

#include "tests/bench/learner_setting.h"

// Updates as one would write them by hand, of the same sizes as a setting's: with LibTorch's own modules and
// optimizers, or with Waggle's flat buffers and optimizer and LibTorch's own autograd. They do what the papers say and
// no more: no importance weights, no new priorities, no metrics.

namespace waggle::bench {

// Double Q-learning.
Learner DqnByModules(const Setting& setting);
Learner DqnByFlatBuffers(const Setting& setting);

// PPO of a recurrent network, over unrolls in which no episode begins: LibTorch's modules know none.
Learner PpoByModules(const Setting& setting);
Learner PpoByFlatBuffers(const Setting& setting);

// SAC of real actions.
Learner SacByModules(const Setting& setting);

}  // namespace waggle::bench
