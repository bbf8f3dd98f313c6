#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/nn/network.h"
#include "common/nn/network_tape.h"
#include "common/nn/torch.h"
#include "common/rl/algorithm.h"
#include "common/rl/algorithms/apex_dqn_definition.h"
#include "common/rl/algorithms/dqn_loss.h"
#include "common/rl/target_update.h"

namespace waggle {

// The learner's half of Ape-X DQN: n-step Q-learning with importance weights and priorities from the TD errors.
class ApexDqn : public Algorithm {
 public:
  // INVALID_ARGUMENT where the experiment does not fit the environment.
  static absl::StatusOr<std::unique_ptr<Algorithm>> Create(const AlgorithmContext& context);
  // As Create, for the tests: to compute in another element type.
  static absl::StatusOr<std::unique_ptr<ApexDqn>> CreateAs(const AlgorithmContext& context, torch::ScalarType dtype);

  absl::StatusOr<UpdateResult> Update(const TensorBatch& batch, Stepper* stepper) override;
  absl::StatusOr<ModelSnapshot> Publish() override;
  absl::Status LoadPublished(const ModelSnapshot& snapshot) override;
  void VisitState(StateVisitor* visitor) override;

  Network& online() { return *online_; }
  // The online network itself in mode vanilla.
  Network& target() { return target_ != nullptr ? *target_ : *online_; }

 private:
  enum class Mode { kVanilla, kFixedTarget, kDouble };

  ApexDqn(const Experiment& experiment, const ApexDqnOptions& options, std::unique_ptr<Network> online,
          std::unique_ptr<Network> target, std::unique_ptr<ParameterGroup> group);

  // The loss of a batch, and its gradient by the outputs of the online network's last pass.
  DqnLossResult ComputeLoss(const TensorBatch& batch);
  torch::Tensor Targets(const TensorBatch& batch, const torch::Tensor& selector, const torch::Tensor& values) const;

  const std::string model_;
  const ApexDqnOptions options_;
  const Mode mode_;
  const TdLoss loss_;
  const bool uses_priorities_;
  const std::unique_ptr<Network> online_;
  const std::unique_ptr<Network> target_;  // Null in mode vanilla.
  const std::unique_ptr<ParameterGroup> group_;
  NetworkTape online_tape_;
  std::unique_ptr<NetworkTape> target_tape_;
  TargetUpdate target_update_;
  int64_t updates_ = 0;
};

}  // namespace waggle
