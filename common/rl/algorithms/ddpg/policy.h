#pragma once

#include <utility>

#include "common/rl/algorithms/ddpg/ddpg.h"
#include "common/rl/kit/algorithm_policy.h"

namespace waggle {

// Draws choices, or gives real actions as they are. If the critics act too, it adds the columns of TdErrorPriority: the
// values of the taken action and of the actor's own.
class DdpgPolicy : public AlgorithmPolicy {
 public:
  DdpgPolicy(const DdpgOptions& options, ActingNets nets);

  Acted Act(const ActingRows& rows) override;
  void AddColumns(const ActingRows& rows, const torch::Tensor& action, Acted* acted) override;

 private:
  const ActingNets nets_;
  const double scale_;  // The factor of choices' probabilities.
  torch::Tensor own_;   // [rows, elements]: the actor's action for the present rows.
};

}  // namespace waggle
