#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/metrics/order_figures.h"
#include "common/base/random.h"
#include "common/base/steady_now.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/mutex.h"
#include "common/config/experiment/algorithm_definition.h"
#include "common/config/experiment/experiment.h"
#include "param_server/experiments/experiment_store.h"
#include "param_server/experiments/experiment_view.h"
#include "param_server/experiments/open_run.h"
#include "param_server/pool/worker_pool.h"
#include "param_server/run/listeners.h"
#include "waggle/v1/experiment.pb.h"

namespace waggle {

struct ExperimentHostOptions {
  std::string data_folder;
  // The output folder of an experiment. "{id}" stands for its id; empty: DATA_FOLDER/experiments/{id}/output.
  std::string output_pattern;
  WorkerIntroduction self;  // This process, which is shown among the workers of each run.
  const AlgorithmDefinitions* algorithms = nullptr;
  WorkerPoolOptions pool;
  absl::Duration answer_after = absl::Seconds(2);  // Longest time that a call of a worker waits for news.
  // Time for the workers of a run that is over to end: a learner may have a large checkpoint to write.
  absl::Duration close_patience = absl::Seconds(60);
  Clock clock = &SteadyNow;
  OrderFigures* figures = nullptr;  // Takes the metrics of running experiments, if it is not null. Outlives the host.
  // Draws the curves of a closed run; the file `log` takes the script's output. Returns at once. Null: draws none.
  std::function<void(const std::string& run_folder, const std::string& log)> draw_curves;
};

using AttendReply = std::function<void(absl::StatusOr<v1::AttendResponse>)>;

// A call of a process of the pool that waits for its reply.
struct AttendCall {
  uint64_t number = 0;
  absl::Time until;
  AttendReply reply;
};

// A run that must be opened: it is in the queue, or ran with an earlier hub.
struct PendingRun {
  std::optional<RunNeeds> needs;  // Absent if the experiment cannot be parsed any more.
  bool opening = false;           // The executor opens it, also if it is stopped meanwhile.
  bool returns = false;           // It goes back to a cut, once the workers of before have ended.
  std::string waits_for;          // In words.
  std::string told;               // The last waits_for in its events, noted at told_at.
  absl::Time told_at = absl::InfinitePast();
  std::string failure;  // Why the last attempt to open it failed, in words.
  absl::Time retry_at = absl::InfinitePast();
  absl::Duration pause;
};

struct ActiveRun {
  std::shared_ptr<OpenRun> run;
  PopulationOptions population;                  // Not given unless it is a member of one.
  int64_t compared = 0;                          // The multiple of population.every at which it was last compared.
  std::shared_ptr<const ExperimentTexts> texts;  // In memory, so that a status does not wait for the disk.
  std::unique_ptr<Listeners::Subscription> subscription;  // Wakes the thread at the run's end.
  RunState state = RunState::kRunning;                    // The last state that was announced.
  std::string hopeless;                                   // Why the run must fail; empty otherwise.
  std::optional<absl::Time> over_since;
  std::optional<absl::Time> dismissed_since;  // All workers must leave.
  bool busy = false;                          // The executor ends or closes the run.
  std::string unclosed;                       // Why a run that is over could not be closed yet, in words.
};

// A closed run that calls may still hold. Its last changes are saved when they release it.
struct ClosingRun {
  std::shared_ptr<OpenRun> run;
  bool busy = false;  // The executor saves it.
};

// The data that the parts of an ExperimentHost share. Thread-safe.
struct HostState {
  HostState(const ExperimentHostOptions& host_options, std::unique_ptr<ExperimentStore> its_store);

  // "cartpole-x7k2p" for an experiment named cartpole.
  static std::string NewId(const std::string& name);
  std::string RunFolder(const std::string& id) const;
  std::string OutputFolder(const std::string& id) const;
  absl::StatusOr<Experiment> Parse(const ExperimentRecord& record, const std::string& effective_yaml) const;
  RunNeeds Needs(const ExperimentRecord& record, const Experiment& experiment) const;

  void Add(ExperimentRecord record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // NOT_FOUND if there is no such experiment.
  absl::StatusOr<ExperimentRecord*> Find(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // A copy of the record; absent if the experiment is over.
  std::optional<ExperimentRecord> RecordUnlessOver(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex);
  // True if the experiment is over and its run is still open, being opened or being closed.
  bool IsClosing(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // True while the experiment waits to go back to a cut.
  bool ReturnsToCut(const std::string& id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  RunState StateOf(const ExperimentRecord& record) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  v1::ExperimentInfo View(const ExperimentRecord& record) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // Saves a record, then replaces it in `records`. `last_overview`: null leaves the saved one.
  absl::Status SaveRecord(const ExperimentRecord& record, const std::string& event,
                          const std::string* last_overview = nullptr) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing)
      ABSL_LOCKS_EXCLUDED(mutex);
  // The event, with the trace of the call that this thread answers, if it has one.
  static std::string WithTrace(const std::string& event);
  // False for a while after a failed save.
  bool CanWrite(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) { return now >= retry_at; }
  // Returns true if `written` is OK. Else logs it, and CanWrite is false for a while.
  bool Noted(const absl::Status& written, const std::string& what) ABSL_LOCKS_EXCLUDED(mutex);

  // Adds an event. May be called with any lock but events_mutex.
  void Note(const std::string& id, const std::string& text) ABSL_LOCKS_EXCLUDED(events_mutex);
  bool HasEvents() ABSL_LOCKS_EXCLUDED(events_mutex);
  void SaveEvents() ABSL_LOCKS_EXCLUDED(mutex, events_mutex);

  // Wakes the host's thread. Shared with listeners of runs, which may outlive the host for a moment.
  struct Wake {
    void Up() ABSL_LOCKS_EXCLUDED(mutex);

    Mutex mutex;
    CondVar changed;
    bool any ABSL_GUARDED_BY(mutex) = false;
    bool stopping ABSL_GUARDED_BY(mutex) = false;
  };

  const ExperimentHostOptions options;
  const std::unique_ptr<ExperimentStore> store;
  const std::shared_ptr<Wake> wake;
  Listeners listeners;  // Called after changes of an experiment's state.
  Mutex events_mutex;
  std::deque<std::pair<std::string, ExperimentEvent>> events ABSL_GUARDED_BY(events_mutex);  // Not saved yet.
  // Held while a record is changed and saved, not while runs are opened, closed or saved. Locked before `mutex`.
  Mutex writing;
  Mutex mutex;
  CondVar closed;  // A run was closed, or this hub stops.
  bool stopping ABSL_GUARDED_BY(mutex) = false;
  std::map<std::string, ExperimentRecord> records ABSL_GUARDED_BY(mutex);
  std::map<int64_t, const ExperimentRecord*> by_sequence ABSL_GUARDED_BY(mutex);  // The same records.
  std::map<std::string, RunStanding> past_standings ABSL_GUARDED_BY(mutex);       // Closed runs.
  std::set<std::string> deleted ABSL_GUARDED_BY(mutex);
  std::set<std::string> deleting ABSL_GUARDED_BY(mutex);  // Their folders are being removed.
  // An experiment that is not over is in one of the first two maps. One that is over may still be in one of the three.
  std::map<std::string, PendingRun> pending_runs ABSL_GUARDED_BY(mutex);
  std::map<std::string, ActiveRun> active_runs ABSL_GUARDED_BY(mutex);
  std::map<std::string, ClosingRun> closing_runs ABSL_GUARDED_BY(mutex);
  WorkerPool pool ABSL_GUARDED_BY(mutex);
  std::map<PoolEvent::Kind, int64_t> pool_events ABSL_GUARDED_BY(mutex);  // Their numbers so far.
  std::map<std::string, AttendCall> calls ABSL_GUARDED_BY(mutex);         // By worker.
  uint64_t last_call ABSL_GUARDED_BY(mutex) = 0;
  Rng rng ABSL_GUARDED_BY(mutex);                                     // For populations.
  absl::Time look_at ABSL_GUARDED_BY(mutex) = absl::InfinitePast();   // The next check of the queue.
  absl::Time retry_at ABSL_GUARDED_BY(mutex) = absl::InfinitePast();  // See CanWrite.
  bool writing_news ABSL_GUARDED_BY(mutex) = false;                   // The executor runs SaveNews.
  std::optional<Executor> executor;
  std::optional<Executor::Lane> runs;  // Leaves a thread for records and events if a disk is slow.
};

}  // namespace waggle
