#pragma once

#include <map>
#include <string>

#include "common/rl/algorithms/maddpg/maddpg.h"
#include "common/rl/kit/agents/agents_policy.h"

namespace waggle {

// The numbers of each row's policy, [rows, …], of those of all policies, [policies, rows, …]. `policy` is int64 [rows].
torch::Tensor OfPolicy(const torch::Tensor& numbers, const torch::Tensor& policy);

// Lets each agent act by one of its policies, drawn when an episode begins. A greedy action is the mean of all
// policies' actions, or the likeliest choice by their mean probabilities.
class MaddpgPolicy : public AgentsPolicy {
 public:
  MaddpgPolicy(const MaddpgOptions& options, ActingNets nets);

 private:
  Acted Decide(const Agent& agent, const ActingRows& rows) override;
  // Draws policies for rows that begin an episode, and returns those of all, int64 [rows].
  torch::Tensor PoliciesOf(const Agent& agent, const ActingRows& rows);

  const int64_t policies_;
  std::map<std::string, torch::Tensor> chosen_;  // By agent: int64 [slots].
};

}  // namespace waggle
