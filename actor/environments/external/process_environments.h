#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "actor/environments/external/environment_process.h"
#include "actor/environments/restarts.h"
#include "actor/environments/vector_environment.h"
#include "actor/writing/ready_rows.h"
#include "common/base/random.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

struct ProcessEnvironmentsOptions {
  std::vector<std::string> command;  // The executable's path, then its arguments.
  std::string scheme;
  std::string options_json;
  std::string environment_name;
  int64_t lanes = 1;
  int64_t processes = 1;                           // At most one a lane.
  bool in_order = false;                           // See LaneOptions.
  uint64_t seed = 0;                               // Determines each lane's seed.
  absl::Duration open_timeout = absl::Minutes(2);  // From a process's start until it is ready.
  absl::Duration step_timeout = absl::Minutes(1);  // For an answer.
  RestartOptions restarts = {absl::Milliseconds(500), absl::Seconds(30), /*max_failures=*/5};
};

// Environments in processes of their own. A process with two lanes or more has two groups of lanes: one steps while
// actions are chosen for the other. A process that ends, is silent for too long or sends a wrong answer is restarted,
// while the others continue. The episodes of its lanes are truncated at the last rows that it showed, with rewards of
// 0. If lanes step together, a lane that already shows an episode's end shows it again. One thread, which must outlive
// this: the processes die with it.
class ProcessEnvironments final : public VectorEnvironment {
 public:
  // Starts the processes and waits until all are ready. INVALID_ARGUMENT if the environment cannot be opened; CANCELLED
  // after a stop.
  static absl::StatusOr<std::unique_ptr<ProcessEnvironments>> Create(const ProcessEnvironmentsOptions& options,
                                                                     const StopToken& stop);

  const EnvironmentSpec& spec() const override { return spec_.environment; }
  int64_t lanes() const override { return options_.lanes; }
  bool lanes_step_together() const override { return spec_.whole_groups; }
  absl::Status Start(absl::Span<const int64_t> lanes) override;
  absl::Status Reset() override;
  absl::Status Send(absl::Span<const int64_t> lanes, absl::Span<const void* const> actions) override;
  absl::StatusOr<ReadyLanes> Recv(int64_t at_least, const StopToken& stop) override;
  EnvironmentHealth health() const override { return health_; }
  ChoiceStarts choice_starts() const override { return spec_.starts; }

  // The conversions of the environment's data, in words.
  const std::vector<std::string>& notes() const { return spec_.notes; }

 private:
  struct Group {
    int64_t first_lane = 0;
    std::vector<LaneCommand> wanted;  // By lane of the group: its next command.
    std::vector<LaneCommand> told;    // While it runs: its lanes' commands.
    bool running = false;
    bool answered = false;  // It has answered, and its rows are not taken yet.
  };
  struct Worker {
    EnvironmentProcessOptions options;
    std::vector<Group> groups;
    std::unique_ptr<EnvironmentProcess> process;  // Null until it is restarted.
    // The last lost process that was ready: its memory has its lanes' last rows.
    std::unique_ptr<EnvironmentProcess> lost;
    bool ready = false;  // It has opened the environment.
    absl::Time acts_at;  // The deadline of an answer, or, without a process, of the restart.
    Restarts restarts;
  };

  ProcessEnvironments(ProcessEnvironmentsOptions options, std::vector<Worker> workers);

  absl::Status AwaitFirstSpecs(const StopToken& stop);
  // Waits for messages, up to `timeout`, and handles them.
  absl::Status Poll(absl::Duration timeout);
  absl::Status TakeFrom(Worker* worker);
  // Takes the rows of all groups in order, once none runs.
  absl::Status TakeAllInOrder();
  absl::Status Start(Worker* worker);
  absl::Status BecomeReady(Worker* worker);
  absl::Status CheckGroup(const Worker& worker, size_t group) const;
  void TakeRows(Worker* worker, size_t group);
  void AddRow(const LaneGroup& memory, int64_t row);
  // Runs a group that is idle and has something to do.
  absl::Status RunIfDue(Worker* worker, size_t group);
  absl::Status RunAllDue();
  // Handles a process's failure. A returned error is final.
  absl::Status Lose(Worker* worker, const absl::Status& why);
  // True if a lane of a lost process must show an episode's end before it begins another episode.
  bool NeedsEnd(int64_t lane) const;
  // Truncates the lane's episode at the row that it showed last.
  void EndEpisode(const Worker& worker, size_t group, int64_t row);

  const ProcessEnvironmentsOptions options_;
  ExternalSpec spec_;
  bool have_spec_ = false;
  std::vector<Worker> workers_;
  struct Place {
    size_t worker = 0;
    size_t group = 0;
    int64_t row = 0;
  };
  std::vector<Place> places_;   // By lane.
  std::vector<uint8_t> ended_;  // By lane: its process was lost while it waited for an action.
  std::vector<size_t> observation_bytes_;
  std::vector<size_t> action_bytes_;
  std::vector<bool> action_scaled_;
  std::unique_ptr<ReadyRows> rows_;
  EnvironmentHealth health_;
};

}  // namespace waggle
