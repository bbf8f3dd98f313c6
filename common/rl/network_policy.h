#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/random.h"
#include "common/experiment/experiment_plan.h"
#include "common/nn/network.h"
#include "common/nn/torch.h"
#include "common/rl/explorer.h"
#include "common/rl/net.h"
#include "common/rl/noise.h"
#include "common/rl/policy.h"

namespace waggle {

// What a policy is made from.
struct PolicyContext {
  const Experiment* experiment = nullptr;             // Outlives the call.
  const AlgorithmDefinitions* definitions = nullptr;  // The same.
  EnvironmentSpec environment;
  torch::Device device = torch::kCPU;
  int64_t lanes = 0;
  int64_t max_rows = 0;  // Of one Act; 0: as many as there are lanes.
  // This actor's lanes are [first_lane, first_lane + lanes) of the run's all_lanes: exploration differs by lane.
  int64_t first_lane = 0;
  int64_t all_lanes = 0;
  uint64_t seed = 0;  // The actor's own.
  // Exploring steps that its lanes have behind them, by actors of before its process was started again: what moves with
  // the environment steps goes on from there.
  int64_t first_step = 0;
};

// Acts by the network of an algorithm's plan that acts, for any algorithm: greedily by its best action, otherwise as
// its distribution draws, with the plan's exploration on top. The columns that the plan asks for are made here by name.
// Where the network has a core, each slot's state is kept from one Act to the next, until an episode begins; new
// weights leave it as it is.
class NetworkPolicy : public Policy {
 public:
  // INVALID_ARGUMENT where the experiment does not fit the environment, or a column is asked for that no head gives.
  static absl::StatusOr<std::unique_ptr<Policy>> Create(const PolicyContext& context);

  std::vector<ArraySpec> columns() const override { return columns_; }
  std::vector<std::string> private_columns() const override { return private_columns_; }
  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override;
  void SetAllLanes(int64_t all_lanes) override { explorer_.SetAllLanes(all_lanes); }
  absl::Status LoadWeights(const ModelSnapshot& snapshot) override;

 private:
  NetworkPolicy(const PolicyContext& context, ExperimentPlan plan, std::unique_ptr<Network> network);

  absl::Status CheckSlots(absl::Span<const int64_t> slots) const;
  // Copies the rows to where the network takes them from.
  Observations Stage(const PolicyInput& input);
  // What the network says of the rows, by the states of their slots, which go on.
  Output Decide(const PolicyInput& input);
  // Sets the states of the rows' slots.
  void Remember(const PolicyInput& input, const torch::Tensor& states);
  // INVALID_ARGUMENT, naming the slot, where what the network gave is not finite.
  absl::Status ActByValues(const Output& out, const PolicyInput& input, ActMode mode, PolicyOutput* output);
  absl::Status ActByDistribution(const Output& out, const PolicyInput& input, ActMode mode, PolicyOutput* output);
  // Each leaf's own elements of actions [rows, …], which are on the CPU.
  void WriteActions(const torch::Tensor& actions, PolicyOutput* output) const;
  absl::Status WriteColumns(const Output& out, const torch::Tensor& log_prob, PolicyOutput* output);

  const ExperimentPlan plan_;
  const EnvironmentSpec environment_;
  const torch::Device device_;
  const std::unique_ptr<Network> network_;
  const HeadPlan* const head_;  // That chooses the action.
  const int64_t lanes_;
  const int64_t max_rows_;
  std::vector<ArraySpec> columns_;
  std::vector<std::string> private_columns_;
  Observations staged_;   // On the CPU, [max_rows, …] a leaf; undefined where none is seen.
  torch::Tensor states_;  // [lanes, state_size]: of each slot, before its next row.
  torch::Tensor before_;  // [rows, state_size]: of the present rows, before them.
  Noise noise_;
  Explorer explorer_;
};

}  // namespace waggle
