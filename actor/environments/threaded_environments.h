#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "actor/environments/environment.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/environments/local_vector_environment.h"
#include "actor/environments/vector_environment.h"
#include "actor/writing/ready_rows.h"
#include "common/base/random.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

// Environments in this process that several threads step, each a part of the lanes. It pays off if a step takes much
// longer than a hand-over between threads, some ten microseconds. A lane's rows equal those of a LocalVectorEnvironment
// of the same environments. One thread calls it.
class ThreadedEnvironments final : public VectorEnvironment {
 public:
  // `environments`: at least one, all of one spec, as MakeEnvironments returns. `threads`: at least 1; at most one for
  // each lane is used. `in_order`: see LaneOptions.
  ThreadedEnvironments(std::vector<std::unique_ptr<Environment>> environments, int64_t threads, bool in_order);
  ~ThreadedEnvironments() override;

  const EnvironmentSpec& spec() const override { return parts_.front()->environments.spec(); }
  int64_t lanes() const override { return static_cast<int64_t>(part_of_lane_.size()); }
  absl::Status Start(absl::Span<const int64_t> lanes) override;
  absl::Status Reset() override;
  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override;
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;
  absl::StatusOr<Picture> Draw(int64_t lane) const override {
    const Part& part = *part_of_lane_[static_cast<size_t>(lane)];
    return part.environments.Draw(lane - part.first_lane);
  }

 private:
  // Lanes that one thread at a time steps. Lanes are numbered from first_lane.
  struct Part {
    Part(std::vector<std::unique_ptr<Environment>> copies, int64_t first_lane);

    LocalVectorEnvironment environments;  // Used by the running task, if there is one.
    const int64_t first_lane;
    // The commands for the next task, and those of the running one.
    struct Commands {
      bool reset = false;  // Resets all lanes, under way or not.
      std::vector<int64_t> starts;
      std::vector<int64_t> sends;
      LeafArrays actions;  // Row i is for sends[i].

      Commands(const std::vector<ArraySpec>& action_arrays, int64_t lanes) : actions(action_arrays, lanes) {}
      bool empty() const { return !reset && starts.empty() && sends.empty(); }
      void Clear() {
        reset = false;
        starts.clear();
        sends.clear();
      }
    };
    Commands wanted;
    Commands running;
    bool is_running = false;  // A task was submitted, and its rows are not taken yet.
    // The task's result; absent while it runs. Guarded by mutex_.
    std::optional<absl::Status> status;
  };

  // Submits the part's commands, unless a task runs.
  absl::Status RunIfDue(Part* part);
  absl::Status RunAllDue();
  void Do(Part* part) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the rows of finished parts, in the order of their lanes.
  absl::Status TakeRows() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status TakeRowsOf(Part* part);
  // Waits until a running part, or every one if `all`, is done.
  absl::Status AwaitDone(bool all, const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_);

  const bool in_order_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Part*> part_of_lane_;
  std::vector<size_t> observation_bytes_;
  std::vector<size_t> action_bytes_;
  std::unique_ptr<ReadyRows> rows_;
  std::vector<size_t> order_;  // The order in which a part's rows are taken.
  Mutex mutex_;
  CondVar done_;
  std::unique_ptr<Executor> executor_;  // Last: its tasks use everything above.
};

// `lanes` copies of an environment in this process, seeded from `rng`, stepped by options.threads threads; by the
// calling one if that is 1. `in_order`: see LaneOptions. Errors are those of MakeEnvironments.
absl::StatusOr<std::unique_ptr<VectorEnvironment>> MakeLocalEnvironment(const EnvironmentDefinition& definition,
                                                                        const EnvironmentOptions& options,
                                                                        int64_t lanes, Rng rng, bool in_order = false);

}  // namespace waggle
