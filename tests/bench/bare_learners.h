#pragma once

#include "tests/bench/learner_setting.h"

// Hand-written updates with the sizes of a setting's: with LibTorch's own modules and optimizers, or with Waggle's flat
// buffers and optimizer and LibTorch's own autograd. They do only what the papers say: no importance weights, no new
// priorities, no metrics.

namespace waggle::bench {

// Double Q-learning.
Learner DqnByModules(const Setting& setting);
Learner DqnByFlatBuffers(const Setting& setting);

// PPO with a recurrent network, over unrolls in which no episode begins: LibTorch's modules know no episodes.
Learner PpoByModules(const Setting& setting);
Learner PpoByFlatBuffers(const Setting& setting);

// SAC with real actions.
Learner SacByModules(const Setting& setting);

}  // namespace waggle::bench
