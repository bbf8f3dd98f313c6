#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/model.h"
#include "common/base/check.h"
#include "common/base/registry.h"
#include "common/config/schedule.h"
#include "common/experiment/experiment.h"
#include "common/nn/parameter_group.h"
#include "common/nn/state_visitor.h"
#include "common/nn/torch.h"
#include "common/rl/policy.h"
#include "common/spec/environment_spec.h"

namespace waggle {

// A sampled batch as tensors on the learner's device: the fields of the table's view and the facts about the items
// ("item/probability", …), by name. Its tensors may be views into the memory that the batch came in: what an algorithm
// keeps beyond one Update, it copies.
struct TensorBatch {
  std::map<std::string, torch::Tensor, std::less<>> fields;
  int64_t size = 0;
  // Of the table when this was sampled.
  int64_t table_items = 0;

  // The field must be there: a table's view is fixed by the algorithm that asks.
  const torch::Tensor& at(const char* name) const {
    const auto it = fields.find(name);
    WAGGLE_CHECK(it != fields.end(), "an algorithm asked for a field that its own table plan does not have");
    return it->second;
  }
};

// What happens between a gradient and the next values of the parameters. An algorithm hands every parameter group to
// one after each backward pass, so the same algorithm can step here, average with other learners, push its gradient to
// a server, or keep it.
class Stepper {
 public:
  virtual ~Stepper() = default;

  // Takes group.gradients(), at the learning rate of this progress. Returns whether the group's values changed; if so,
  // targets may follow them.
  // INVALID_ARGUMENT, with nothing changed, for a gradient that is not finite (see Optimizer::Step for when an
  // accelerator says so).
  virtual absl::StatusOr<bool> Step(ParameterGroup* group, const Progress& progress) = 0;
};

// What one update gives back. The tensors of metrics may be overwritten by the next update. Tensors stay on the device:
// reading one on the CPU waits for the device, so metrics are read only when they are logged.
struct UpdateResult {
  // [size], float32, >= 0: the items' new priorities; undefined where the algorithm has none. Not overwritten later.
  torch::Tensor priorities;
  // Scalars by name ("loss", "q_mean").
  std::vector<std::pair<std::string, torch::Tensor>> metrics;
};

// The learner's half of an algorithm: networks, loss and update rule. One thread.
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  // One batch in: computes losses and gradients, hands each parameter group to `stepper`, updates targets. A loss or
  // gradient that is not finite is INVALID_ARGUMENT, and changes nothing.
  virtual absl::StatusOr<UpdateResult> Update(const TensorBatch& batch, Stepper* stepper) = 0;

  // The parameters that act, in the layout that the policy expects. One copy to the CPU.
  virtual absl::StatusOr<ModelSnapshot> Publish() = 0;

  // The other way round, for a learner that comes back without its state: the parameters that act, and targets that
  // follow them, become the snapshot's, and updates are counted on from its version. Optimizers and all else stay as
  // they are. FAILED_PRECONDITION if it is of another network, INVALID_ARGUMENT for values that are not finite; nothing
  // has changed then.
  virtual absl::Status LoadPublished(const ModelSnapshot& snapshot) = 0;

  // Walks over everything that must survive: networks, targets, optimizers, schedules, generators, counters.
  virtual void VisitState(StateVisitor* visitor) = 0;
};

struct AlgorithmContext {
  const Experiment* experiment = nullptr;  // Outlives the algorithm.
  EnvironmentSpec environment;
  torch::Device device = torch::kCPU;
};

struct PolicyContext {
  const Experiment* experiment = nullptr;  // Outlives the policy.
  EnvironmentSpec environment;
  torch::Device device = torch::kCPU;
  int64_t lanes = 0;
  // This actor's lanes are [first_lane, first_lane + lanes) of the run's all_lanes: exploration differs by lane.
  int64_t first_lane = 0;
  int64_t all_lanes = 0;
  uint64_t seed = 0;  // The actor's own.
  // Exploring steps that its lanes have behind them, by actors of before its process was started again: what is
  // annealed over a lane's steps goes on from there.
  int64_t first_step = 0;
};

// The computing half of an algorithm; an AlgorithmDefinition has the same name.
struct AlgorithmImplementation {
  std::function<absl::StatusOr<std::unique_ptr<Algorithm>>(const AlgorithmContext& context)> new_algorithm;
  std::function<absl::StatusOr<std::unique_ptr<Policy>>(const PolicyContext& context)> new_policy;
};

using AlgorithmImplementations = Registry<AlgorithmImplementation>;

}  // namespace waggle
