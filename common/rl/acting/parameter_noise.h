#pragma once

#include <cstdint>
#include <memory>

#include "common/config/plan/exploration_options.h"
#include "common/nn/network.h"
#include "common/nn/torch.h"
#include "common/rl/kit/noise.h"
#include "common/rl/kit/observations.h"

namespace waggle {

// Exploration by noise in the parameters of an acting network (Plappert et al. 2018, arXiv 1706.01905). All slots act
// by one noisy copy for a number of steps, so that they explore consistently. The noise's deviation grows if noisy and
// clean actions are closer than wanted on the slots' own observations, and shrinks otherwise. Not thread-safe; may
// throw as LibTorch does.
class ParameterNoise {
 public:
  // `clean` must outlive it; `noisy` is a network of the same plan. `head` decides what an action is.
  ParameterNoise(const ExplorationOptions& options, const Network* clean, std::unique_ptr<Network> noisy,
                 const HeadPlan* head);

  // The network to act by next, for these rows. Adapts the deviation and draws anew when the noise is old enough.
  const Network& Next(const Observations& rows, Noise* noise);
  // Must be called when the clean network has new values. The noise stays.
  void FollowClean();

  double deviation() const { return deviation_; }

 private:
  // The distance between the two networks' decisions: the root of the mean square of actions' elements, or the mean
  // divergence of the softmax of values.
  double Distance(const Observations& rows) const;

  const ExplorationOptions options_;
  const Network* const clean_;
  const std::unique_ptr<Network> noisy_;
  const HeadPlan* const head_;
  torch::Tensor noise_;  // Standard normal, for each learned parameter; undefined at first.
  double deviation_;
  int64_t steps_ = 0;  // Since the noise was drawn.
};

}  // namespace waggle
