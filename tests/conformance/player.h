#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "actor/acting/policy_buffers.h"
#include "actor/environments/local_vector_environment.h"
#include "actor/writing/pending_rows.h"
#include "actor/writing/trajectory_writer.h"
#include "common/rl/acting/network_policy.h"
#include "tests/conformance/subject.h"
#include "tests/support/local/local_replay.h"

namespace waggle::testing {

// A policy with `lanes` lanes for the subject.
std::unique_ptr<Policy> NewPolicy(const Subject& subject, const Experiment& experiment, int64_t lanes,
                                  uint64_t seed = 1);
// Copies of its environment with one seed.
LocalVectorEnvironment NewEnvironments(const Subject& subject, bool are_long, int64_t lanes, uint64_t seed = 1);

// Acts in an environment, or demonstrates it to an algorithm that learns from recorded episodes, writes the rows to a
// table in this process with an actor's own parts, and samples from it as a learner does.
class Player {
 public:
  Player(const Subject& subject, const Experiment& experiment, bool is_long);

  // Takes `steps` steps in each lane, and writes their rows.
  void Play(int64_t steps);
  // A batch for an update, in its own memory.
  TensorBatch Sample();
  // Sends an update's priorities to the table; undefined: none.
  void Prioritize(const TensorBatch& batch, const torch::Tensor& priorities);

  Policy* policy() { return policy_.get(); }
  const TablePlan& table() const { return table_; }
  int64_t items_written() const { return writer_->items_written(); }
  int64_t env_steps() const { return env_steps_; }

 private:
  const ExperimentPlan plan_;
  const TablePlan& table_;
  const std::unique_ptr<Policy> policy_;
  LocalVectorEnvironment environments_;
  PolicyBuffers buffers_;
  PendingRows pending_;
  ReadyLanes ready_;
  LocalReplayConnection replay_{std::make_shared<ReplayStore>(ReplayStoreOptions())};
  std::unique_ptr<ReplayWriter> sink_;
  std::unique_ptr<TrajectoryWriter> writer_;
  std::unique_ptr<ReplaySampler> sampler_;
  std::unique_ptr<PriorityUpdater> updater_;
  int64_t env_steps_ = 0;
  int64_t rows_ = 0;  // In each lane.
};

// Batches of the subject's untrained policy, from episodes of several steps.
std::vector<TensorBatch> PlayedBatches(const Subject& subject, const Experiment& experiment, int64_t count);
// A batch that does not begin where the environments did.
TensorBatch PlayedBatch(const Subject& subject, const Experiment& experiment);

// Changes of batches: the same rows of all fields, and floating-point fields as float64.
TensorBatch RowsOf(const TensorBatch& batch, const torch::Tensor& rows);
TensorBatch InFloat64(const TensorBatch& batch);
// Gives all items the same probability.
TensorBatch AlikeItems(TensorBatch batch);

// True if a terminal state is in a row's window, so that nothing after it counts: bool [rows].
torch::Tensor EndsAtTerminal(const TensorBatch& batch);

}  // namespace waggle::testing
