#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "common/base/check.h"
#include "common/config/spec/environment_spec.h"
#include "common/nn/torch.h"
#include "common/rl/kit/observations.h"

namespace waggle {

// A sampled batch as tensors on the learner's device, by name: the fields of the table's view and facts about items
// ("item/probability", …). Tensors may be views of its memory: algorithms must copy those kept beyond one Update.
struct TensorBatch {
  std::map<std::string, torch::Tensor, std::less<>> fields;
  int64_t size = 0;
  // The table's items when the batch was sampled.
  int64_t table_items = 0;

  // The field must exist: the algorithm's plan fixes the table's view.
  const torch::Tensor& at(const std::string& name) const {
    const auto it = fields.find(name);
    WAGGLE_CHECK(it != fields.end(), "an algorithm asked for a field that its own table plan does not have");
    return it->second;
  }
};

// The input of an update: a batch of each table of the plan, by the table's name there.
class Batches {
 public:
  // The pointers' targets must outlive this.
  Batches(const EnvironmentSpec* environment, std::map<std::string, const TensorBatch*> batches)
      : environment_(environment), batches_(std::move(batches)) {}

  const TensorBatch& at(const std::string& table) const {
    const auto it = batches_.find(table);
    WAGGLE_CHECK(it != batches_.end(), "an algorithm asked for a table that its own plan does not have");
    return *it->second;
  }
  // False if the table is drawn in some updates only (TablePlan::every), and not in this one.
  bool Has(const std::string& table) const { return batches_.count(table) > 0; }
  // The batch of the plan's only table.
  const TensorBatch& only() const {
    WAGGLE_CHECK(batches_.size() == 1, "an algorithm with several tables says which one it means");
    return *batches_.begin()->second;
  }
  const std::map<std::string, const TensorBatch*>& tables() const { return batches_; }
  const EnvironmentSpec& environment() const { return *environment_; }

 private:
  const EnvironmentSpec* environment_;
  std::map<std::string, const TensorBatch*> batches_;
};

// `values` [rows, …] where `mask`, of their leading dimensions, is true; zeros elsewhere.
torch::Tensor ZerosElsewhere(torch::Tensor mask, const torch::Tensor& values);

// The joint action of a batch's field of each action leaf, which `field` gives by the leaf's name, with `lead` leading
// dimensions (common/config/spec/joint_action.h).
torch::Tensor JointActions(const EnvironmentSpec& environment, int64_t lead,
                           const std::function<torch::Tensor(const std::string& name)>& field);

// A batch of a TransitionTable. Floating-point fields have the networks' type.
struct Transitions {
  Observations observation;  // [rows, …] a leaf.
  torch::Tensor action;      // [rows, …] with all leaves (common/config/spec/joint_action.h).
  // [rows]: discounted sum of rewards over the window's steps; [rows, k] of an algorithm that learns vector rewards.
  torch::Tensor n_step_return;
  torch::Tensor bootstrap;        // [rows]: factor of next_observation's value; 0 after a terminal state.
  Observations next_observation;  // [rows, …] a leaf.
  torch::Tensor weight;           // [rows]: importance weights.
};

// Converts the batch of the plan's only table. `discount` is a step's. Importance weights are (items * probability) ^
// -importance_exponent over the batch's largest; 1 if the exponent is 0. May throw as LibTorch does.
Transitions TransitionsOf(const Batches& batches, double discount, double importance_exponent = 0);
// The same for a batch of one of several tables.
Transitions TransitionsOf(const EnvironmentSpec& environment, const TensorBatch& batch, double discount,
                          double importance_exponent = 0);

// A batch of an UnrollTable, a SequenceTable or an EpisodeTable, time-major: T steps of each row, or those of the
// longest episode. Only the observation of the additional step in [T + 1, rows] counts. Past the end of a shorter
// episode nothing counts; observations and actions are zeros. Floating-point fields have the networks' type.
struct Unrolls {
  Observations observation;  // [T + 1, rows, …] a leaf.
  torch::Tensor first;       // [T + 1, rows], bool: an episode begins with the observation.
  torch::Tensor action;      // [T + 1, rows, …], as in Transitions; zeros if no step follows.
  torch::Tensor reward;      // [T, rows].
  torch::Tensor discount;    // [T, rows]: factor of the next observation's value; 0 for a terminal state's.
  torch::Tensor last;        // [T, rows], bool: an episode's final observation or past it, so no step follows.
  torch::Tensor counts;      // [T, rows], bool: not `last`.
  torch::Tensor core_state;  // [rows, values]: before the first step; undefined without memory.
  const TensorBatch* batch = nullptr;

  // The first T of T + 1.
  static torch::Tensor Steps(const torch::Tensor& values) { return values.narrow(0, 0, values.size(0) - 1); }
  // A column that the policy wrote, [T, rows, …].
  torch::Tensor Column(const std::string& name) const {
    return batch->at(name).transpose(0, 1).narrow(0, 0, counts.size(0));
  }
};

// Converts the batch of the plan's only table, which must outlive it. `discount` is a step's.
Unrolls UnrollsOf(const Batches& batches, double discount);
// The same for a batch of one of several tables.
Unrolls UnrollsOf(const EnvironmentSpec& environment, const TensorBatch& batch, double discount);

// A batch of a SequenceTable.
struct Sequences : public Unrolls {
  // [T, rows], bool: learned steps: those after the burn-in, and all of a sequence that begins with its episode.
  torch::Tensor learned;
  torch::Tensor weight;  // [rows]: importance weights, as in Transitions.
};

// Converts the batch of the plan's only table, which must outlive it. May throw as LibTorch does.
Sequences SequencesOf(const Batches& batches, double discount, int64_t burn_in, double importance_exponent = 0);
// The same for a batch of one of several tables.
Sequences SequencesOf(const EnvironmentSpec& environment, const TensorBatch& batch, double discount, int64_t burn_in,
                      double importance_exponent = 0);

}  // namespace waggle
