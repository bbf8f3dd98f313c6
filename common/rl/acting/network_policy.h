#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/random.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/spec/joint_action.h"
#include "common/nn/flat_parameters.h"
#include "common/nn/network.h"
#include "common/nn/torch.h"
#include "common/nn/weights_codec.h"
#include "common/rl/acting/explorer.h"
#include "common/rl/acting/parameter_noise.h"
#include "common/rl/acting/policy.h"
#include "common/rl/kit/algorithm.h"
#include "common/rl/kit/algorithm_policy.h"
#include "common/rl/kit/net.h"
#include "common/rl/kit/noise.h"

namespace waggle {

// The inputs of NetworkPolicy::Create.
struct PolicyContext {
  const Experiment* experiment = nullptr;             // Must outlive the call.
  const AlgorithmDefinitions* definitions = nullptr;  // Must outlive the call.
  // Must outlive the call; null if the algorithm has no policy of its own.
  const AlgorithmImplementations* implementations = nullptr;
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

// Acts by any plan: by the algorithm's own policy, or by the acting head of its network, greedily or as the head's
// distribution draws. Then explores as the plan says, and makes the plan's columns by name. With a core, a slot's state
// is kept until an episode begins, also with new weights. Noise in weights is drawn for each row of each exploring
// step, or, if actors wait for versions, for each version.
class NetworkPolicy : public Policy {
 public:
  // INVALID_ARGUMENT if the experiment does not fit the environment, no head gives a wanted column, or the plan's own
  // policy is missing.
  static absl::StatusOr<std::unique_ptr<Policy>> Create(const PolicyContext& context);

  std::vector<ArraySpec> columns() const override { return columns_; }
  std::vector<std::string> private_columns() const override { return private_columns_; }
  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override;
  void SetAllLanes(int64_t all_lanes) override { explorer_.SetAllLanes(all_lanes); }
  void SetExploration(const ExplorationOptions& options) override { explorer_.SetOptions(options); }
  absl::Status LoadWeights(const ModelSnapshot& snapshot) override;

 private:
  NetworkPolicy(const PolicyContext& context, ExperimentPlan plan, std::vector<std::unique_ptr<Network>> networks,
                std::map<std::string, FlatParameters> scalars);

  absl::Status MakeOwn(const PolicyContext& context);
  absl::Status CheckSlots(absl::Span<const int64_t> slots) const;
  // Copies the rows to the network's inputs.
  Observations Stage(const PolicyInput& input);
  void SetNoise(ActMode mode, int64_t rows);
  // The network's decisions by its acting head. Advances the states of the rows' slots.
  Acted ActByHead(const ActingRows& rows);
  // INVALID_ARGUMENT, naming the slot, if values or actions are not finite. Returns the taken actions, on the CPU.
  absl::StatusOr<torch::Tensor> Choose(const PolicyInput& input, ActMode mode, Acted* acted);
  absl::StatusOr<torch::Tensor> Explored(const PolicyInput& input, ActMode mode, Acted* acted);
  // Writes each leaf's elements of actions [rows, …], which must be on the CPU.
  void WriteActions(const torch::Tensor& actions, PolicyOutput* output) const;
  // INVALID_ARGUMENT if the algorithm's policy has not given a column, or in another shape.
  absl::Status WriteColumns(const Acted& acted, int64_t rows, ActMode mode, PolicyOutput* output) const;

  const ExperimentPlan plan_;
  const EnvironmentSpec environment_;
  const JointAction action_;
  const torch::Device device_;
  const std::vector<std::unique_ptr<Network>> networks_;  // Those that act.
  std::map<std::string, FlatParameters> scalars_;         // Those that act, by name.
  const std::vector<NamedParameters> parameters_;         // Those of both, in the plan's order.
  const HeadPlan* const head_;  // Chooses the action; null if the algorithm's own policy does.
  std::unique_ptr<AlgorithmPolicy> own_;
  const int64_t lanes_;
  const int64_t max_rows_;
  std::vector<ArraySpec> columns_;
  std::vector<std::string> private_columns_;
  Observations staged_;   // On the CPU, [max_rows, …] a leaf; undefined if the network does not use it.
  torch::Tensor states_;  // [lanes, state_size]: of each slot, before its next row.
  torch::Tensor before_;  // [rows, state_size]: of the present rows, before them.
  Noise noise_;
  Explorer explorer_;
  std::unique_ptr<ParameterNoise> parameter_noise_;  // Null without this exploration.
  bool has_noise_ = false;                           // The present version's noise in weights is drawn.
};

}  // namespace waggle
