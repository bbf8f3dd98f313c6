#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/api/model.h"
#include "common/config/schedule.h"
#include "common/experiment/experiment_plan.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/algorithm.h"
#include "common/rl/observation_statistics.h"
#include "common/rl/stepper.h"

namespace waggle {

// What one update gives back. The tensors of metrics may be overwritten by the next update. Tensors stay on the device:
// reading one on the CPU waits for the device, so metrics are read only when they are logged.
struct UpdateResult {
  // For each table of the plan, [size], at least 0: the items' new priorities; undefined where the algorithm has none,
  // or the table picks nothing by them. Not overwritten later.
  std::vector<torch::Tensor> priorities;
  // Scalars by name ("q_loss", "q_mean").
  std::vector<std::pair<std::string, torch::Tensor>> metrics;
};

// What a train loop trains: it knows no algorithm. One thread.
class Trainee {
 public:
  virtual ~Trainee() = default;

  // A batch of each table of the plan in: steps what it learns by `stepper`. A loss or gradient that is not finite is
  // INVALID_ARGUMENT; what was stepped before it in the same update stays so.
  virtual absl::StatusOr<UpdateResult> Update(absl::Span<const TensorBatch* const> batches, const Progress& progress,
                                              Stepper* stepper) = 0;
  // The same for one table.
  absl::StatusOr<UpdateResult> Update(const TensorBatch& batch, const Progress& progress, Stepper* stepper) {
    const TensorBatch* const only = &batch;
    return Update(absl::MakeConstSpan(&only, 1), progress, stepper);
  }

  // The parameters that act, in the layout that the policy expects. One copy to the CPU.
  virtual absl::StatusOr<ModelSnapshot> Publish() = 0;

  // The other way round, for a learner that comes back without its state: the parameters that act, and targets that
  // follow them, become the snapshot's. Optimizers and all else stay as they are. FAILED_PRECONDITION if it is of
  // another network, INVALID_ARGUMENT for values that are not finite; nothing has changed then.
  virtual absl::Status LoadPublished(const ModelSnapshot& snapshot) = 0;

  // Walks over everything that must survive.
  virtual void VisitState(StateVisitor* visitor) = 0;
};

// An experiment's algorithm with its model and its random numbers.
class AlgorithmTrainee : public Trainee {
 public:
  // INVALID_ARGUMENT where the experiment does not fit the environment. `dtype` is what is computed with.
  static absl::StatusOr<std::unique_ptr<AlgorithmTrainee>> Create(
      const Experiment& experiment, const EnvironmentSpec& environment, const AlgorithmDefinitions& definitions,
      const AlgorithmImplementations& implementations, torch::Device device, torch::ScalarType dtype = torch::kFloat32);

  using Trainee::Update;
  absl::StatusOr<UpdateResult> Update(absl::Span<const TensorBatch* const> batches, const Progress& progress,
                                      Stepper* stepper) override;
  absl::StatusOr<ModelSnapshot> Publish() override;
  absl::Status LoadPublished(const ModelSnapshot& snapshot) override;
  void VisitState(StateVisitor* visitor) override;

  Model& model() { return *model_; }
  const ExperimentPlan& plan() const { return plan_; }

 private:
  AlgorithmTrainee(std::string name, ExperimentPlan plan, std::unique_ptr<Model> model, uint64_t seed);

  const std::string model_name_;
  const ExperimentPlan plan_;
  const std::unique_ptr<Model> model_;
  Noise noise_;
  ObservationStatistics observations_;
  std::unique_ptr<Algorithm> algorithm_;
};

}  // namespace waggle
