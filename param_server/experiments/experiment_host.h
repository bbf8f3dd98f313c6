#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/steady_now.h"
#include "common/base/stop_token.h"
#include "common/base/thread.h"
#include "common/experiment/algorithm_definition.h"
#include "param_server/experiments/experiment_store.h"
#include "param_server/experiments/open_run.h"
#include "param_server/pool/worker_pool.h"
#include "param_server/run_services.h"
#include "param_server/workers/listeners.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

struct ExperimentHostOptions {
  std::string data_folder;
  // Where an experiment's files go, "{id}" standing for its id; empty: DATA_FOLDER/experiments/{id}/output.
  std::string output_pattern;
  WorkerIntroduction self;  // This process, as it is shown among the workers of each run.
  const AlgorithmDefinitions* algorithms = nullptr;
  WorkerPoolOptions pool;
  absl::Duration answer_after = absl::Seconds(1);  // A worker that attends waits so long for news.
  // Workers of a run that is over have so long to end: a learner may have a large checkpoint to write.
  absl::Duration close_patience = absl::Seconds(60);
  Clock clock = &SteadyNow;
  // Has the curves of a run that is closed drawn into its output folder; `log` is for what the script says. Returns at
  // once. Null: nobody does.
  std::function<void(const std::string& run_folder, const std::string& log)> draw_curves;
};

// An experiment that is handed in.
struct Submission {
  std::string submitted_yaml;
  std::string effective_yaml;
  int64_t priority = 0;
  std::string request_id;
};

// An experiment, for people: what is kept of it, with what is known of it now.
struct ExperimentView {
  ExperimentRecord record;
  uint64_t env_steps = 0;
  uint64_t learner_steps = 0;
  absl::Duration running;  // The time of the run: see ExperimentTracker.
  std::optional<RunResult> result;
  int64_t workers = 0;
  int64_t workers_wanted = 0;
};

// What a process of the pool is told.
struct PoolAnswer {
  std::vector<WorkOrder> orders;
  std::vector<std::string> discarded;
};

// The experiments of a hub, from their submission to their end, and the processes that work for them. Thread-safe.
//
// A thread of its own begins those that wait as soon as there are workers for them, those of higher priority first,
// then those that came earlier; one that has to wait for workers who are busy holds up those behind it, and one for
// which there are too few at all does not. It closes those that are over. One whose files cannot be opened for now, as
// a disk is full or missing, is tried again, in the queue or running as it was.
class ExperimentHost {
 public:
  // Reads what is kept; what ran goes on. An error names the file that cannot be read or written.
  static absl::StatusOr<std::unique_ptr<ExperimentHost>> Open(const ExperimentHostOptions& options);
  // Returns when all is written. Runs go on when the next hub opens the folder.
  ~ExperimentHost();
  ExperimentHost(const ExperimentHost&) = delete;
  ExperimentHost& operator=(const ExperimentHost&) = delete;

  // Calls that wait for a run to close end with UNAVAILABLE from now on: for a process that stops, before its server.
  void BeginStop() ABSL_LOCKS_EXCLUDED(mutex_);

  // Those that change something wait for the disk. Their errors are those of ExperimentService.
  absl::StatusOr<std::string> Submit(const Submission& submission) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Stop(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Resume(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // As Resume waits for one that is over until its run is closed.
  absl::Status Delete(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<ExperimentEvent>> Events(const std::string& id, uint64_t after)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Those that only look return at once.
  std::vector<ExperimentView> List() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<ExperimentView> Get(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<PoolMemberView> Members() ABSL_LOCKS_EXCLUDED(mutex_);
  // See FindRun. An empty id stands for the only experiment that runs.
  std::shared_ptr<RunServices> Find(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // What is known of an experiment that does not run; NOT_FOUND where there is none. An empty id stands for the only
  // one that there is; FAILED_PRECONDITION, naming all, where there are several.
  absl::StatusOr<v1::OverviewResponse> PastOverview(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls `listener` whenever the state of an experiment changes. As ModelStore::Watch.
  std::unique_ptr<Listeners::Subscription> Watch(std::function<void()> listener) {
    return listeners_.Add(std::move(listener));
  }

  // A process of the pool attends. Calls `answer` once, from any thread, when there is news for it or after a while; at
  // once where it cannot attend. Returns a number for BreakOff.
  using Answer = std::function<void(absl::StatusOr<PoolAnswer>)>;
  uint64_t Attend(const Attendance& attendance, Answer answer) ABSL_LOCKS_EXCLUDED(mutex_);
  // It has broken that call off: nobody waits for the answer any more, which may be called all the same.
  void BreakOff(uint64_t call) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Waiting {
    uint64_t call = 0;
    absl::Time until;
    Answer answer;
  };
  struct Active {
    std::shared_ptr<OpenRun> run;
    std::unique_ptr<Listeners::Subscription> subscription;  // Wakes the thread at the run's end.
    RunState state = RunState::kRunning;                    // As its watchers were told last.
    std::optional<absl::Time> over_since;
    std::optional<absl::Time> dismissed_since;  // All workers are to leave.
  };
  // One whose run could not be opened, for a reason that may pass.
  struct Postponed {
    absl::Time until;
    absl::Duration pause;
    std::string why;  // In words.
  };
  using Answers = std::vector<std::pair<Answer, absl::StatusOr<PoolAnswer>>>;

  explicit ExperimentHost(const ExperimentHostOptions& options, std::unique_ptr<ExperimentStore> store);

  std::string RunFolder(const std::string& id) const;
  std::string OutputFolder(const std::string& id) const;
  absl::StatusOr<Experiment> Parse(const ExperimentRecord& record) const;
  absl::StatusOr<ExperimentRecord*> FindRecordLocked(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until the run of one that is over is closed. NOT_FOUND where there is no such experiment,
  // FAILED_PRECONDITION where it takes too long, UNAVAILABLE where this hub stops.
  absl::Status AwaitClosed(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Knows an experiment from now on. `needs`: absent for one that cannot be understood any more.
  void Learn(const ExperimentRecord& record, std::optional<RunNeeds> needs) ABSL_LOCKS_EXCLUDED(mutex_);
  ExperimentView ViewLocked(const ExperimentRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes a record, and makes it what is known.
  absl::Status Keep(const ExperimentRecord& record, const std::string& event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The thread's.
  void Run();
  void RunOnce();
  // The next that can begin, or be opened again after a restart; nothing: none can.
  std::optional<std::string> NextToBegin() ABSL_LOCKS_EXCLUDED(mutex_);
  // One that ran with an earlier hub goes on. An error says what could not be written down; that it has
  // failed, or has to be tried again, is not an error here.
  absl::Status Begin(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_, writing_);
  absl::StatusOr<std::shared_ptr<OpenRun>> OpenRunOf(const ExperimentRecord& record, const Experiment& experiment);
  // Begin's when the run could not be opened.
  absl::Status GiveUpOrPostpone(ExperimentRecord record, const absl::Status& why, bool final)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_) ABSL_LOCKS_EXCLUDED(mutex_);
  RunNeeds Needs(const ExperimentRecord& record, const Experiment& experiment) const;
  // After something could not be written, nothing is for a while.
  bool CanWrite() const;
  // Logs an error, and returns whether there was none.
  bool Noted(const absl::Status& written, const std::string& what);
  void TickPool() ABSL_LOCKS_EXCLUDED(mutex_);
  void CloseEnded() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CloseRun(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_, writing_);
  void KeepReplayStorage() ABSL_LOCKS_EXCLUDED(mutex_, writing_);
  void WriteEvents() ABSL_LOCKS_EXCLUDED(mutex_);
  // May be called with any lock but events_mutex_.
  void Note(const std::string& id, const std::string& text) ABSL_LOCKS_EXCLUDED(events_mutex_);
  // Answers of those for whom there is news, or who have waited long enough.
  Answers TakeAnswersLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  PoolAnswer AnswerLocked(const std::string& worker_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has the thread look at once.
  void WakeUp();

  const ExperimentHostOptions options_;
  const std::unique_ptr<ExperimentStore> store_;
  Listeners listeners_;
  // Wakes the thread; shared with listeners of runs, which may outlive this for a moment.
  struct Wake {
    Mutex mutex;
    CondVar changed;
    bool any ABSL_GUARDED_BY(mutex) = false;
    bool stopping ABSL_GUARDED_BY(mutex) = false;
  };
  const std::shared_ptr<Wake> wake_;
  Mutex events_mutex_;
  std::deque<std::pair<std::string, ExperimentEvent>> events_ ABSL_GUARDED_BY(events_mutex_);  // Not written yet.
  Mutex writing_;  // Held while a record is changed: read, written down, made known. Before mutex_.
  Mutex mutex_;
  CondVar closed_;  // A run has been closed, or this hub stops.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, ExperimentRecord> records_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> deleted_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> waits_for_ ABSL_GUARDED_BY(mutex_);  // Of those in the queue: what, in words.
  std::map<std::string, Active> active_ ABSL_GUARDED_BY(mutex_);
  // None of these is active. Those that ran with an earlier hub are running as before, for their workers too.
  std::map<std::string, Postponed> postponed_ ABSL_GUARDED_BY(mutex_);
  WorkerPool pool_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // By worker.
  uint64_t last_call_ ABSL_GUARDED_BY(mutex_) = 0;
  // Runs that are closed, while calls still hold them, and then while what they have to keep is written.
  std::map<std::string, std::shared_ptr<OpenRun>> closing_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> written_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, RunNeeds> needs_ ABSL_GUARDED_BY(mutex_);    // Of those that can be understood.
  std::map<std::string, RunStanding> past_ ABSL_GUARDED_BY(mutex_);  // Of those that were closed.
  std::set<std::string> deleting_ ABSL_GUARDED_BY(mutex_);           // Their folders are being removed.
  absl::Time look_at_ = absl::InfinitePast();                        // Of the thread: when at the queue again.
  absl::Time retry_at_ = absl::InfinitePast();                       // Of the thread: see CanWrite.
  Thread thread_;                                                    // Last: it uses everything above.
};

}  // namespace waggle
