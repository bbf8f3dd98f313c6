#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "actor/environments/environment.h"
#include "common/base/random.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/model.h"
#include "common/replay/ports/replay.h"
#include "common/rl/acting/policy.h"

// Fakes of the actor's ports.

namespace waggle::testing {

// An environment whose observations identify their source, float32[3]: the copy's seed (in 0 to 999), the episode and
// the step. Episodes last 1 to max_steps steps, at random; every third one is truncated, the others terminate. The
// reward of a step is 10 * its number + the action, of 0 to 2.
class CountingEnvironment : public Environment {
 public:
  CountingEnvironment(int64_t max_steps, uint64_t seed);

  static EnvironmentDefinition Definition(int64_t max_steps);

  const EnvironmentSpec& spec() const override { return spec_; }
  absl::Status Reset(absl::Span<void* const> observations) override;
  absl::StatusOr<StepOutcome> Step(absl::Span<const void* const> actions, absl::Span<void* const> observations,
                                   float* rewards) override;

 private:
  void Write(void* observation) const;

  EnvironmentSpec spec_;
  Rng rng_;
  uint64_t seed_;
  int64_t episode_ = -1;
  int64_t step_ = 0;
  int64_t length_ = 0;
};

// A policy whose actions are step % 3 in explore mode and 0 in greedy mode, with a column "trace" (float32[2]: the
// observation's episode and step) and two private values (the step, and the step's square).
class CountingPolicy : public Policy {
 public:
  std::vector<ArraySpec> columns() const override;
  std::vector<std::string> private_columns() const override { return {"step", "square"}; }
  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override;
  absl::Status LoadWeights(const ModelSnapshot& snapshot) override;
  std::optional<ModelVersion> acted_version() const override { return acted; }
  void SetExploration(const ExplorationOptions& options) override { on_exploration(options); }

  std::optional<ModelVersion> acted;  // The version of a policy that the learner computes.
  absl::Status act_result;
  absl::Status load_result;
  std::vector<uint64_t> loaded;  // The versions loaded.
  std::function<void(int64_t calls)> on_act;
  std::function<void(const ExplorationOptions& options)> on_exploration;
  int64_t calls = 0;
};

// Rows of each lane in an actor's block.
inline int64_t RowsOfLane(const InsertBlock& block) {
  int64_t rows = 0;
  for (const ChunkInfo& chunk : block.chunks) {
    rows += chunk.stream == 0 ? chunk.rows : 0;
  }
  return rows;
}

// A lane's part of blocks: its rows, each as all its columns' bytes, and its items' first rows, lengths and priorities.
struct LaneStream {
  std::vector<std::string> rows;
  std::vector<std::tuple<uint64_t, uint32_t, double>> items;
};

// The parts of lanes 0, 1, …
std::vector<LaneStream> StreamsOf(const std::vector<InsertBlock>& blocks, const std::vector<ArraySpec>& signature);

// Keeps every block. Fails or stops as its test says.
class RecordingWriter : public ReplayWriter {
 public:
  absl::Status Append(InsertBlock block, const StopToken& stop) override;
  absl::Status Flush(absl::Duration timeout) override;
  Stats stats() const override { return stats_; }

  std::vector<InsertBlock> blocks;
  std::function<absl::Status(const StopToken& stop)> on_append;  // Append returns its error, and the block is not kept.
  int flushes = 0;
  Stats stats_;
};

// Answers from a script. Thread-safe.
class ScriptedSubscriber : public ModelSubscriber {
 public:
  // Each entry is the answer to one PullNewer; WaitNewer waits while there is none.
  struct Script {
    Mutex mutex;
    CondVar changed;
    std::deque<absl::StatusOr<std::optional<ModelSnapshot>>> answers ABSL_GUARDED_BY(mutex);
    std::vector<std::optional<ModelVersion>> asked ABSL_GUARDED_BY(mutex);    // By PullNewer.
    std::vector<std::optional<ModelVersion>> awaited ABSL_GUARDED_BY(mutex);  // By WaitNewer.
    // Called at the beginning of each WaitNewer with the number of such calls so far. Set before the first.
    std::function<void(size_t waits)> on_wait;

    void Add(absl::StatusOr<std::optional<ModelSnapshot>> answer) ABSL_LOCKS_EXCLUDED(mutex);
    std::vector<std::optional<ModelVersion>> Asked() ABSL_LOCKS_EXCLUDED(mutex);
    std::vector<std::optional<ModelVersion>> Awaited() ABSL_LOCKS_EXCLUDED(mutex);
  };
  explicit ScriptedSubscriber(std::shared_ptr<Script> script) : script_(std::move(script)) {}

  absl::StatusOr<std::optional<ModelSnapshot>> PullNewer(std::optional<ModelVersion> version,
                                                         const StopToken& stop) override;
  absl::StatusOr<std::optional<ModelSnapshot>> PullBest(const StopToken& /*stop*/) override {
    return absl::UnimplementedError("an actor does not pull the best weights");
  }
  absl::Status WaitNewer(std::optional<ModelVersion> version, const StopToken& stop) override;

 private:
  const std::shared_ptr<Script> script_;
};

ModelSnapshot SnapshotOf(uint64_t version);

// A hub whose answers are set by its test. It records all reports. Thread-safe.
class FakeHub : public HubLink {
 public:
  void Set(const std::function<void(Assignment*)>& change) ABSL_LOCKS_EXCLUDED(mutex_);
  // Refuses the worker from now on.
  void Refuse(const absl::Status& reason) ABSL_LOCKS_EXCLUDED(mutex_);
  // If `adopt`, a reported environment becomes the run's.
  void AdoptEnvironment(bool adopt) ABSL_LOCKS_EXCLUDED(mutex_);

  std::optional<EnvironmentSpec> environment() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<Evaluation> evaluations() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<absl::Status> failures() const ABSL_LOCKS_EXCLUDED(mutex_);
  int farewells() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The requests of TakeSteps.
  std::vector<StepRequest> step_requests() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Called after each reported evaluation, in the reporting thread.
  std::function<void(const Evaluation&)> on_evaluation;
  // The answer to TakeSteps, in the asking thread.
  std::function<absl::StatusOr<int64_t>(const StepRequest&)> on_take_steps;

  Assignment assignment() const override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<Assignment> WaitUntil(const std::function<bool(const Assignment&)>& condition,
                                       const StopToken& stop) override ABSL_LOCKS_EXCLUDED(mutex_);
  void ReportEnvironment(const EnvironmentSpec& environment) override ABSL_LOCKS_EXCLUDED(mutex_);
  void ReportEvaluation(const Evaluation& evaluation) override ABSL_LOCKS_EXCLUDED(mutex_);
  void ReportFinalVersion(const ModelVersion&) override {}
  void ReportFirstStep() override {}
  void ReportTurnDone(uint64_t) override {}
  void ReportCut(const CutReport&) override {}
  void ReportBrokenGroup(uint64_t) override {}
  void ReportFailure(const absl::Status& failure) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<int64_t> TakeSteps(const StepRequest& request, const StopToken& stop) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  const StopToken& run_over() const override { return run_over_; }
  const StopToken& training_over() const override { return training_over_; }
  void Leave(absl::Duration timeout) override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const StopToken training_over_;
  const StopToken run_over_;
  mutable Mutex mutex_;
  CondVar changed_;
  Assignment assignment_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);
  bool adopt_environment_ ABSL_GUARDED_BY(mutex_) = true;
  std::optional<EnvironmentSpec> environment_ ABSL_GUARDED_BY(mutex_);
  std::vector<Evaluation> evaluations_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Status> failures_ ABSL_GUARDED_BY(mutex_);
  std::vector<StepRequest> step_requests_ ABSL_GUARDED_BY(mutex_);
  int farewells_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace waggle::testing
