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
#include "common/base/executor.h"
#include "common/base/mutex.h"
#include "common/base/steady_now.h"
#include "common/base/stop_token.h"
#include "common/base/thread.h"
#include "common/experiment/algorithm_definition.h"
#include "param_server/experiments/experiment_store.h"
#include "param_server/experiments/experiment_view.h"
#include "param_server/experiments/open_run.h"
#include "param_server/pool/worker_pool.h"
#include "param_server/run/listeners.h"
#include "param_server/run_services.h"
#include "waggle/v1/worker.pb.h"

namespace waggle {

struct ExperimentHostOptions {
  std::string data_folder;
  // Where an experiment's files go, "{id}" standing for its id; empty: DATA_FOLDER/experiments/{id}/output.
  std::string output_pattern;
  WorkerIntroduction self;  // This process, as it is shown among the workers of each run.
  const AlgorithmDefinitions* algorithms = nullptr;
  WorkerPoolOptions pool;
  absl::Duration answer_after = absl::Seconds(2);  // A worker that attends waits so long for news.
  // Workers of a run that is over have so long to end: a learner may have a large checkpoint to write.
  absl::Duration close_patience = absl::Seconds(60);
  Clock clock = &SteadyNow;
  // Has the curves of a run that is closed drawn into its output folder; `log` is for what the script says. Returns at
  // once. Null: no curves are drawn.
  std::function<void(const std::string& run_folder, const std::string& log)> draw_curves;
};

// What a process of the pool is told.
struct PoolAnswer {
  std::vector<WorkOrder> orders;
  std::vector<std::string> discarded;
};

// The experiments of a hub, from their submission to their end, and the processes that work for them. Thread-safe.
//
// A thread of its own decides who begins and what is closed, and answers the pool; it never waits for a disk. Those
// that wait begin as soon as there are workers for them, those of higher priority first, then those that came earlier;
// one that has to wait for workers who are busy holds up those behind it, and one for which there are too few at all
// does not. Runs are opened and closed by an executor. One whose files cannot be opened for now, as a disk is full or
// missing, is tried again, in the queue or running as it was.
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

  // These wait for the disk. Their errors are those of ExperimentService.
  absl::StatusOr<std::string> Submit(const Submission& submission) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Stop(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Resume(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // As Resume waits for one that is over until its run is closed.
  absl::Status Delete(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::vector<ExperimentEvent>> Events(const std::string& id, uint64_t after)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<ExperimentTexts> Texts(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // What is known of an experiment that does not run; UNAVAILABLE while it is being opened, NOT_FOUND where there is
  // none. An empty id stands for the only one that there is; FAILED_PRECONDITION, naming some, where there are several.
  absl::StatusOr<v1::OverviewResponse> PastOverview(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Those that only look return at once.
  ExperimentPage List(const ExperimentQuery& query) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<ExperimentView> Get(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<PoolMemberView> Members() ABSL_LOCKS_EXCLUDED(mutex_);
  // The texts of an experiment that runs; null for any other, whose texts are on the disk alone.
  std::shared_ptr<const ExperimentTexts> TextsOfRunning(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // See FindRun. An empty id stands for the only experiment that runs.
  absl::StatusOr<std::shared_ptr<RunServices>> Find(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);

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
  // A run that is to be opened: it is in the queue, or ran with an earlier hub.
  struct Pending {
    std::optional<RunNeeds> needs;  // Absent for one that cannot be understood any more.
    bool opening = false;           // By the executor, also if it is stopped meanwhile.
    std::string waits_for;          // In words.
    std::string told;               // Of that, to those who read its events, and when.
    absl::Time told_at = absl::InfinitePast();
    std::string failure;  // Why it could not be opened, for a reason that may pass; in words.
    absl::Time retry_at = absl::InfinitePast();
    absl::Duration pause;
  };
  struct Active {
    std::shared_ptr<OpenRun> run;
    std::shared_ptr<const ExperimentTexts> texts;           // So that a status does not wait for the disk.
    std::unique_ptr<Listeners::Subscription> subscription;  // Wakes the thread at the run's end.
    RunState state = RunState::kRunning;                    // As its watchers were told last.
    std::string hopeless;                                   // Why it is to fail; empty: it is not.
    std::optional<absl::Time> over_since;
    std::optional<absl::Time> dismissed_since;  // All workers are to leave.
    bool busy = false;                          // The executor ends or closes it.
    std::string unclosed;                       // Why it is over and could not be closed yet; in words.
  };
  // A run that is closed: calls may still hold it. Then what it has to keep is written.
  struct Closing {
    std::shared_ptr<OpenRun> run;
    bool busy = false;  // The executor writes it.
  };
  using Answers = std::vector<std::pair<Answer, absl::StatusOr<PoolAnswer>>>;

  explicit ExperimentHost(const ExperimentHostOptions& options, std::unique_ptr<ExperimentStore> store);

  // Open's: reads what is kept. What ran is opened by the executor.
  absl::Status LoadAll() ABSL_LOCKS_EXCLUDED(mutex_, writing_);
  void AddRecordLocked(ExperimentRecord record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // FAILED_PRECONDITION if a further experiment would share its output folder with another.
  absl::Status CheckOwnFolder() ABSL_LOCKS_EXCLUDED(mutex_);
  std::string RunFolder(const std::string& id) const;
  std::string OutputFolder(const std::string& id) const;
  absl::StatusOr<Experiment> Parse(const std::string& id, const std::string& effective_yaml) const;
  RunNeeds Needs(const ExperimentRecord& record, const Experiment& experiment) const;
  absl::StatusOr<ExperimentRecord*> FindRecordLocked(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True if the experiment is over and its run is still open, being opened or being closed.
  bool IsClosingLocked(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until the run of one that is over is closed. NOT_FOUND where there is no such experiment,
  // FAILED_PRECONDITION where it takes too long, UNAVAILABLE where this hub stops.
  absl::Status AwaitClosed(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // The id, or that of the only experiment if it is empty.
  absl::StatusOr<std::string> OnlyOne(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  RunState StateLocked(const ExperimentRecord& record) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ExperimentView ViewLocked(const ExperimentRecord& record) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes a record, and makes it what is known. `last_overview`: null leaves what is kept.
  absl::Status Keep(const ExperimentRecord& record, const std::string& event,
                    const std::string* last_overview = nullptr) ABSL_EXCLUSIVE_LOCKS_REQUIRED(writing_)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The thread's.
  void Run();
  void RunOnce();
  void TickPool() ABSL_LOCKS_EXCLUDED(mutex_);
  static void TellHub(const PoolEvent& event, Hub* hub);
  void CloseEnded() ABSL_LOCKS_EXCLUDED(mutex_);
  // What the executor has to do for experiments that are to end, or are over. Sets `*news` if a state has changed.
  using Tasks = std::vector<std::pair<std::string, std::function<void()>>>;
  Tasks TakeEndedLocked(absl::Time now, bool* news) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropClosed() ABSL_LOCKS_EXCLUDED(mutex_);
  void WriteNews() ABSL_LOCKS_EXCLUDED(mutex_);

  // Says what each in the queue waits for, and has those opened that can begin. Any thread; returns at once.
  void BeginNext(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::string> TakeReadyLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What has to end before one in the queue is looked at; empty: nothing.
  std::string HeldUpLocked(const ExperimentRecord& record, const Pending& pending, absl::Time now) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellWaitLocked(const std::string& id, Pending* pending, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // The executor's: these wait for the disk. At most one of them is under way for an experiment.
  // One that ran with an earlier hub goes on. An error says what could not be written down; that it has
  // failed, or has to be tried again, is not an error here.
  absl::Status Begin(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_, writing_);
  absl::Status OpenAndBegin(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_, writing_);
  // The run is open: it begins, if it was not stopped meanwhile.
  absl::Status BeginOpen(const std::string& id, std::shared_ptr<OpenRun> run, ExperimentTexts texts,
                         const RunNeeds& needs) ABSL_LOCKS_EXCLUDED(mutex_, writing_);
  absl::StatusOr<std::shared_ptr<OpenRun>> OpenRunOf(const ExperimentRecord& record, const std::string& effective_yaml,
                                                     const Experiment& experiment);
  // Begin's when the run could not be opened.
  absl::Status GiveUpOrPostpone(const std::string& id, const absl::Status& why, bool final)
      ABSL_LOCKS_EXCLUDED(mutex_, writing_);
  // A copy of the record; nothing if the experiment is over.
  std::optional<ExperimentRecord> RecordUnlessOver(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // An error says what is not on the disk yet; it is tried again.
  absl::Status CloseRun(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_, writing_);
  absl::Status WriteEnd(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_, writing_);
  void KeepReplayStorage() ABSL_LOCKS_EXCLUDED(mutex_, writing_);
  void WriteEvents() ABSL_LOCKS_EXCLUDED(mutex_);
  // After something could not be written, nothing is for a while.
  bool CanWriteLocked(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return now >= retry_at_; }
  // Logs an error, after which nothing is written for a while, and returns whether there was none.
  bool Noted(const absl::Status& written, const std::string& what) ABSL_LOCKS_EXCLUDED(mutex_);
  // May be called with any lock but events_mutex_.
  void Note(const std::string& id, const std::string& text) ABSL_LOCKS_EXCLUDED(events_mutex_);

  // Answers of those for whom there is news, or who have waited long enough.
  Answers TakeAnswersLocked(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  PoolAnswer AnswerLocked(const std::string& worker_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ExperimentHostOptions options_;
  const std::unique_ptr<ExperimentStore> store_;
  Listeners listeners_;
  // Wakes the thread; shared with listeners of runs, which may outlive this for a moment.
  struct Wake {
    void Up() ABSL_LOCKS_EXCLUDED(mutex);

    Mutex mutex;
    CondVar changed;
    bool any ABSL_GUARDED_BY(mutex) = false;
    bool stopping ABSL_GUARDED_BY(mutex) = false;
  };
  const std::shared_ptr<Wake> wake_;
  Mutex events_mutex_;
  std::deque<std::pair<std::string, ExperimentEvent>> events_ ABSL_GUARDED_BY(events_mutex_);  // Not written yet.
  // Held while a record is changed: read, written to the store, made known; not while runs are opened or closed, nor
  // while their state is written. Before mutex_.
  Mutex writing_;
  Mutex mutex_;
  CondVar closed_;  // A run has been closed, or this hub stops.
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, ExperimentRecord> records_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, const ExperimentRecord*> by_sequence_ ABSL_GUARDED_BY(mutex_);  // Of records_.
  std::map<std::string, RunStanding> past_ ABSL_GUARDED_BY(mutex_);                 // Of those that were closed.
  std::set<std::string> deleted_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> deleting_ ABSL_GUARDED_BY(mutex_);  // Their folders are being removed.
  // An experiment that is not over is in one of these two; one that is over may be in one of the three for a while.
  std::map<std::string, Pending> pending_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Active> active_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Closing> closing_ ABSL_GUARDED_BY(mutex_);
  WorkerPool pool_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // By worker.
  uint64_t last_call_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time look_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();   // When at the queue again.
  absl::Time retry_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // See CanWriteLocked.
  bool writing_news_ ABSL_GUARDED_BY(mutex_) = false;                   // By the executor.
  std::optional<Executor> executor_;
  std::optional<Executor::Lane> runs_;  // So that a slow disk does not take all of its threads.
  Thread thread_;                       // Last: it uses everything above.
};

}  // namespace waggle
