#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/schedule.h"
#include "common/hub/ports/model.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/kit/algorithm.h"
#include "common/rl/kit/stepper.h"
#include "common/rl/publishing/initial_weights.h"
#include "common/rl/training/algorithm_with_modules.h"
#include "common/rl/training/observation_statistics.h"
#include "common/rl/training/value_watch.h"

namespace waggle {

// The result of an update. The next one may overwrite the metrics. Reading them waits for the device.
struct UpdateResult {
  // New priorities of items for each table of the plan, [size], at least 0; undefined if unused. Not overwritten.
  std::vector<torch::Tensor> priorities;
  // Scalars by name ("q_loss", "q_mean").
  std::vector<std::pair<std::string, torch::Tensor>> metrics;
};

// A train loop's view of an algorithm. One thread.
class Trainee {
 public:
  virtual ~Trainee() = default;

  // Learns from a batch of each table of the plan; null of one that this update does not draw. `stepper` applies the
  // gradients. INVALID_ARGUMENT if a loss or gradient is not finite; earlier steps of the update remain.
  virtual absl::StatusOr<UpdateResult> Update(absl::Span<const TensorBatch* const> batches, const Progress& progress,
                                              Stepper* stepper) = 0;
  // The same for one table.
  absl::StatusOr<UpdateResult> Update(const TensorBatch& batch, const Progress& progress, Stepper* stepper) {
    const TensorBatch* const only = &batch;
    return Update(absl::MakeConstSpan(&only, 1), progress, stepper);
  }

  // The acting parameters in the policy's layout. One copy to the CPU.
  virtual absl::StatusOr<ModelSnapshot> Publish() = 0;

  // Loads the acting parameters and their targets, for a learner that comes back without its state. FAILED_PRECONDITION
  // if they are another network's, INVALID_ARGUMENT if some are not finite; nothing is changed then.
  virtual absl::Status LoadPublished(const ModelSnapshot& snapshot) = 0;

  // Later updates see these (UpdateContext::evaluated_rewards).
  virtual void SetEvaluatedRewards(const std::vector<double>& /*rewards*/) {}

  // Learns on with these settings (common/config/experiment/live_settings.h). All settings since the experiment was
  // made must be among them. Returns the experiment's text with them. After an error nothing is changed.
  virtual absl::StatusOr<std::string> Set(const std::string& settings) = 0;
  // The present learning rate of each network and scalar, by its name.
  virtual std::map<std::string, double> LearningRates(const Progress& /*progress*/) const { return {}; }

  // All parameters that it steps, in an order that follows from the experiment.
  virtual std::vector<ParameterGroup*> groups() const { return {}; }

  // Visits all state that must survive.
  virtual void VisitState(StateVisitor* visitor) = 0;
};

// An experiment's algorithm with its model and its random numbers.
class AlgorithmTrainee : public Trainee {
 public:
  // INVALID_ARGUMENT if the experiment does not fit the environment. `dtype` is the type of computations.
  static absl::StatusOr<std::unique_ptr<AlgorithmTrainee>> Create(
      const Experiment& experiment, const EnvironmentSpec& environment, const AlgorithmDefinitions& definitions,
      const AlgorithmImplementations& implementations, torch::Device device, torch::ScalarType dtype = torch::kFloat32);

  using Trainee::Update;
  absl::StatusOr<UpdateResult> Update(absl::Span<const TensorBatch* const> batches, const Progress& progress,
                                      Stepper* stepper) override;
  absl::StatusOr<ModelSnapshot> Publish() override;
  absl::Status LoadPublished(const ModelSnapshot& snapshot) override;
  // Begins with parameters of another run, in targets too. They must be of this trainee's plan.
  absl::Status BeginWith(const InitialWeights& weights);
  void SetEvaluatedRewards(const std::vector<double>& rewards) override { evaluated_rewards_ = rewards; }
  absl::StatusOr<std::string> Set(const std::string& settings) override;
  std::map<std::string, double> LearningRates(const Progress& progress) const override {
    return model_->LearningRates(progress);
  }
  std::vector<ParameterGroup*> groups() const override { return model_->groups(); }
  void VisitState(StateVisitor* visitor) override;

  Model& model() { return *model_; }
  const ExperimentPlan& plan() const { return plan_; }

 private:
  AlgorithmTrainee(const Experiment& experiment, const AlgorithmDefinitions& definitions,
                   const AlgorithmImplementations& implementations, ExperimentPlan plan, std::unique_ptr<Model> model,
                   uint64_t seed);

  // Logs a warning if the values that the update reported as "q_mean" diverge.
  void WatchValues(const std::vector<torch::Tensor>& rewards, const UpdateResult& result);

  const Experiment experiment_;  // Without later settings.
  const AlgorithmDefinitions definitions_;
  const AlgorithmImplementations implementations_;
  const ExperimentPlan plan_;
  const std::unique_ptr<Model> model_;
  Noise noise_;
  ObservationStatistics observations_;
  ValueWatch value_watch_;
  std::vector<double> evaluated_rewards_;  // Not saved: the next evaluation replaces them.
  std::unique_ptr<AlgorithmWithModules> algorithm_;
};

}  // namespace waggle
