#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "common/base/check.h"
#include "common/nn/torch.h"
#include "common/rl/observations.h"
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
  const torch::Tensor& at(const std::string& name) const {
    const auto it = fields.find(name);
    WAGGLE_CHECK(it != fields.end(), "an algorithm asked for a field that its own table plan does not have");
    return it->second;
  }
};

// What an update is given: a batch of each table of the plan, by the table's name there.
class Batches {
 public:
  // What it points to outlives it.
  Batches(const EnvironmentSpec* environment, std::map<std::string, const TensorBatch*> batches)
      : environment_(environment), batches_(std::move(batches)) {}

  const TensorBatch& at(const std::string& table) const {
    const auto it = batches_.find(table);
    WAGGLE_CHECK(it != batches_.end(), "an algorithm asked for a table that its own plan does not have");
    return *it->second;
  }
  // Of the plan's only table.
  const TensorBatch& only() const {
    WAGGLE_CHECK(batches_.size() == 1, "an algorithm with several tables says which one it means");
    return *batches_.begin()->second;
  }
  const EnvironmentSpec& environment() const { return *environment_; }

 private:
  const EnvironmentSpec* environment_;
  std::map<std::string, const TensorBatch*> batches_;
};

// A batch of a TransitionTable. Floating-point fields have the type in which networks compute.
struct Transitions {
  Observations observation;       // [rows, …] a leaf.
  torch::Tensor action;           // [rows, …]: of all leaves (common/spec/joint_action.h).
  torch::Tensor n_step_return;    // [rows]: discounted sum of rewards over the window's steps.
  torch::Tensor bootstrap;        // [rows]: what the value of next_observation counts; 0 after a terminal state.
  Observations next_observation;  // [rows, …] a leaf.
  torch::Tensor weight;           // [rows]: importance weights.
};

// Of the batch of the plan's only table. `discount` is the algorithm's, for a step. Importance weights are (items *
// probability) ^ -importance_exponent over the largest of the batch; 0: all are 1. May throw as LibTorch does.
Transitions TransitionsOf(const Batches& batches, double discount, double importance_exponent = 0);

// A batch of an UnrollTable, a SequenceTable or an EpisodeTable, time-major: T steps of each of its rows, or as many as
// the longest of its episodes has. What is [T + 1, rows] has one more, of which only the observation counts. Past the
// end of a shorter episode nothing counts, and observations and actions are zeros. Floating-point fields have the type
// in which networks compute.
struct Unrolls {
  Observations observation;  // [T + 1, rows, …] a leaf.
  torch::Tensor first;       // [T + 1, rows], bool: an episode begins with the observation.
  torch::Tensor action;      // [T + 1, rows, …]: of all leaves, as in Transitions; zeros where no step follows.
  torch::Tensor reward;      // [T, rows].
  torch::Tensor discount;    // [T, rows]: of the next observation's value; 0 where that is a terminal state's.
  torch::Tensor last;        // [T, rows], bool: an episode's final observation or past it: no step follows.
  torch::Tensor counts;      // [T, rows], bool: the others.
  torch::Tensor core_state;  // [rows, values]: before the first step; undefined where the policy has no memory.
  const TensorBatch* batch = nullptr;

  // What is [T, rows, …] of [T + 1, rows, …]: all but the last.
  static torch::Tensor Steps(const torch::Tensor& values) { return values.narrow(0, 0, values.size(0) - 1); }
  // A column that the policy wrote, [T, rows, …].
  torch::Tensor Column(const std::string& name) const {
    return batch->at(name).transpose(0, 1).narrow(0, 0, counts.size(0));
  }
};

// Of the batch of the plan's only table, which outlives it. `discount` is the algorithm's, for a step.
Unrolls UnrollsOf(const Batches& batches, double discount);

// A batch of a SequenceTable.
struct Sequences : public Unrolls {
  // [T, rows], bool: the steps that count and are learned from, which are those behind the burn-in, and all of a
  // sequence that begins with its episode.
  torch::Tensor learned;
  torch::Tensor weight;  // [rows]: importance weights, as Transitions has them.
};

// Of the batch of the plan's only table, which outlives it. May throw as LibTorch does.
Sequences SequencesOf(const Batches& batches, double discount, int64_t burn_in, double importance_exponent = 0);

}  // namespace waggle
