#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/threads/mutex.h"
#include "common/hub/ports/hub.h"

namespace waggle {

class SqliteDatabase;

// A place of an experiment in a population.
struct Membership {
  std::string population;    // Its name; empty: the experiment is no member of any.
  Exploit exploit;           // The last order to its learner.
  int64_t exploited_at = 0;  // The run's environment steps then.
};

// The labels by which users find experiments again. Texts have no line breaks; only the group and owner may be empty.
struct ExperimentLabels {
  std::string group;                // The experiments of one submission, also of a population; empty: it is alone.
  std::vector<std::string> varied;  // "KEY=VALUE" in which it differs from the others of its group.
  std::vector<std::string> tags;
  std::string owner;
};

// The record of an experiment, which is in the database and in memory.
struct ExperimentRecord {
  std::string id;
  int64_t sequence = 0;  // Order of submission, given by the store.
  std::string name;
  std::string algorithm;
  std::string environment;
  int64_t seed = 0;
  int64_t priority = 0;
  RunState state = RunState::kQueued;
  std::string reason;  // Why it ended, in words; empty until then.
  std::string software_version;
  std::string output_folder;
  absl::Time submitted;
  std::optional<absl::Time> started;  // Begin of the first attempt.
  std::optional<absl::Time> ended;
  int64_t attempts = 0;  // Number of times that it was begun.
  // The storage_id of the replay server of each shard, if it has one.
  std::map<int64_t, std::string> replay_storage;
  // Numbers and limits that were set since the submission: see common/config/experiment/settings_text.h.
  std::string settings;
  Membership membership;
  ExperimentLabels labels;
};

// Large texts of an experiment, on the disk alone. Only last_overview changes.
struct ExperimentTexts {
  std::string request_id;      // Request id of the submission; may be empty.
  std::string submitted_yaml;  // As the user wrote it.
  std::string effective_yaml;  // With all values, without later settings.
  // The overview of its run when it was last closed, as bytes of an OverviewResponse; empty before that.
  std::string last_overview;
};

// An event of an experiment.
struct ExperimentEvent {
  uint64_t number = 0;  // Counts from 1 in each experiment, given by the store.
  absl::Time at;
  std::string text;
};

// Saves experiments in an SQLite database, which it locks against other processes. A change is on the disk when its
// call returns. A call that fails changes nothing. Texts may hold any bytes; times have microseconds. Thread-safe;
// calls wait for the disk. Errors name the file: RESOURCE_EXHAUSTED for a full disk, PERMISSION_DENIED for a file that
// cannot be written to, DATA_LOSS for a damaged file.
class ExperimentStore {
 public:
  // Makes the file if it is missing; its folder must exist. Keeps the newest `max_events` events of each experiment.
  // FAILED_PRECONDITION for a file of another format or program; UNAVAILABLE if another process uses it.
  static absl::StatusOr<std::unique_ptr<ExperimentStore>> Open(const std::string& path, int64_t max_events = 10'000);
  ~ExperimentStore();
  ExperimentStore(const ExperimentStore&) = delete;
  ExperimentStore& operator=(const ExperimentStore&) = delete;

  // Passes all experiments to `take`, in the order of their sequence. `take` must not call this store.
  using Take = std::function<void(ExperimentRecord record, const std::string& last_overview)>;
  absl::Status Load(const Take& take) ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND if there is no experiment with this id.
  absl::StatusOr<ExperimentTexts> Texts(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // The id of the experiment that this request has submitted. Absent if there is none or the request_id is empty.
  absl::StatusOr<std::optional<std::string>> IdOfRequest(const std::string& request_id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the sequence. ALREADY_EXISTS if another experiment has or had this id, or has this request_id.
  absl::StatusOr<int64_t> Add(const ExperimentRecord& record, const ExperimentTexts& texts = {})
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds all of them or none, each with an event, and sets their sequences. Errors as Add.
  using NewExperiment = std::pair<ExperimentRecord, ExperimentTexts>;
  absl::Status AddAll(std::vector<NewExperiment>* experiments, const std::string& event = "submitted")
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Replaces a record except its sequence, and adds `event` if it is not empty, both or neither. NOT_FOUND as Texts.
  absl::Status Update(const ExperimentRecord& record, const std::string& event = "", absl::Time at = absl::Now())
      ABSL_LOCKS_EXCLUDED(mutex_);
  // As Update without an event; replaces the last_overview too.
  absl::Status UpdateClosed(const ExperimentRecord& record, const std::string& last_overview)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Deletes an experiment and its events. Its id is not given again. NOT_FOUND as Texts.
  absl::Status Delete(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // The ids of all deleted experiments.
  absl::StatusOr<std::vector<std::string>> Deleted() ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds events by experiment id, all or none. Events of unknown experiments are ignored.
  absl::Status AddEvents(const std::vector<std::pair<std::string, ExperimentEvent>>& events)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Events with numbers above `after`, oldest first, at most `limit`. NOT_FOUND if the experiment does not exist.
  absl::StatusOr<std::vector<ExperimentEvent>> Events(const std::string& id, uint64_t after, int64_t limit)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  ExperimentStore(std::unique_ptr<SqliteDatabase> database, int64_t max_events);
  // `last_overview`: null leaves the saved one.
  absl::Status UpdateLocked(const ExperimentRecord& record, const std::string* last_overview, const std::string& event,
                            absl::Time at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PutEventLocked(int64_t sequence, absl::Time at, const std::string& text)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t max_events_;
  Mutex mutex_;
  const std::unique_ptr<SqliteDatabase> database_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace waggle
