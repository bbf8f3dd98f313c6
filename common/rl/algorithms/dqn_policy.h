#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/base/random.h"
#include "common/nn/network.h"
#include "common/nn/network_tape.h"
#include "common/nn/torch.h"
#include "common/rl/algorithm.h"
#include "common/rl/algorithms/apex_dqn_definition.h"
#include "common/rl/policy.h"

namespace waggle {

// Acts by the best Q-value, and at random with a probability of each lane's own (the epsilon ladder). Its private
// columns are what the initial priority needs: the Q-value of the action taken and of the best one.
class DqnPolicy : public Policy {
 public:
  // INVALID_ARGUMENT where the experiment does not fit the environment.
  static absl::StatusOr<std::unique_ptr<Policy>> Create(const PolicyContext& context);

  std::vector<ArraySpec> columns() const override { return {}; }
  std::vector<std::string> private_columns() const override { return {"q_taken", "q_max"}; }
  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override;
  absl::Status LoadWeights(const ModelSnapshot& snapshot) override;

 private:
  DqnPolicy(const PolicyContext& context, const ApexDqnOptions& options, std::unique_ptr<Network> network,
            torch::Tensor observations);

  // Q-values [lanes, actions] in the CPU's memory.
  torch::Tensor Evaluate(const PolicyInput& input);

  const std::unique_ptr<Network> network_;
  NetworkTape tape_;
  const torch::Device device_;
  const size_t observation_bytes_;  // Of all lanes.
  torch::Tensor observations_;      // On the CPU; where a step's observations are put.
  std::vector<double> epsilons_;    // A lane's, once annealed.
  const int64_t anneal_steps_;
  int64_t steps_;  // Exploring calls of Act, those before a restart of the actor included.
  Rng rng_;
};

}  // namespace waggle
