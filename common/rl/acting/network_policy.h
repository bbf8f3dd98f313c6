#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/random.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/nn/network.h"
#include "common/nn/torch.h"
#include "common/rl/acting/explorer.h"
#include "common/rl/acting/policy.h"
#include "common/rl/kit/net.h"
#include "common/rl/kit/noise.h"

namespace waggle {

// The inputs of NetworkPolicy::Create.
struct PolicyContext {
  const Experiment* experiment = nullptr;             // Must outlive the call.
  const AlgorithmDefinitions* definitions = nullptr;  // Must outlive the call.
  EnvironmentSpec environment;
  torch::Device device = torch::kCPU;
  int64_t lanes = 0;
  int64_t max_rows = 0;  // Limit of rows of one Act; 0 for `lanes`.
  // The actor's lanes are [first_lane, first_lane + lanes) of the run's all_lanes. Exploration differs by lane.
  int64_t first_lane = 0;
  int64_t all_lanes = 0;
  uint64_t seed = 0;  // The actor's own.
  // Exploring steps that the lanes did before a restart of the actor. Schedules of environment steps continue there.
  int64_t first_step = 0;
};

// Acts by the acting network of any plan: greedily, or as its distribution draws with the plan's exploration. Makes the
// plan's columns by name. With a core, a slot's state is kept until an episode begins, also with new weights.
class NetworkPolicy : public Policy {
 public:
  // INVALID_ARGUMENT if the experiment does not fit the environment, or no head gives a wanted column.
  static absl::StatusOr<std::unique_ptr<Policy>> Create(const PolicyContext& context);

  std::vector<ArraySpec> columns() const override { return columns_; }
  std::vector<std::string> private_columns() const override { return private_columns_; }
  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override;
  void SetAllLanes(int64_t all_lanes) override { explorer_.SetAllLanes(all_lanes); }
  void SetExploration(const ExplorationOptions& options) override { explorer_.SetOptions(options); }
  absl::Status LoadWeights(const ModelSnapshot& snapshot) override;

 private:
  NetworkPolicy(const PolicyContext& context, ExperimentPlan plan, std::unique_ptr<Network> network);

  absl::Status CheckSlots(absl::Span<const int64_t> slots) const;
  // Copies the rows to the network's inputs.
  Observations Stage(const PolicyInput& input);
  // The network's outputs. Advances the states of the rows' slots.
  Output Decide(const PolicyInput& input);
  void Remember(const PolicyInput& input, const torch::Tensor& states);
  // INVALID_ARGUMENT, naming the slot, if the network's outputs are not finite.
  absl::Status ActByValues(const Output& out, const PolicyInput& input, ActMode mode, PolicyOutput* output);
  absl::Status ActByDistribution(const Output& out, const PolicyInput& input, ActMode mode, PolicyOutput* output);
  // Writes each leaf's elements of actions [rows, …], which must be on the CPU.
  void WriteActions(const torch::Tensor& actions, PolicyOutput* output) const;
  absl::Status WriteColumns(const Output& out, const torch::Tensor& log_prob, PolicyOutput* output);

  const ExperimentPlan plan_;
  const EnvironmentSpec environment_;
  const torch::Device device_;
  const std::unique_ptr<Network> network_;
  const HeadPlan* const head_;  // Chooses the action.
  const int64_t lanes_;
  const int64_t max_rows_;
  std::vector<ArraySpec> columns_;
  std::vector<std::string> private_columns_;
  Observations staged_;   // On the CPU, [max_rows, …] a leaf; undefined if the network does not use it.
  torch::Tensor states_;  // [lanes, state_size]: of each slot, before its next row.
  torch::Tensor before_;  // [rows, state_size]: of the present rows, before them.
  Noise noise_;
  Explorer explorer_;
};

}  // namespace waggle
