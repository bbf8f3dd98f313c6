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

// What the hub keeps of an experiment, beside the folder of its run, and has in memory as long as it knows it.
struct ExperimentRecord {
  std::string id;
  int64_t sequence = 0;  // Of its submission: later ones have larger ones. Given by the store.
  std::string name;
  std::string algorithm;
  std::string environment;
  int64_t seed = 0;
  int64_t priority = 0;
  RunState state = RunState::kQueued;
  std::string reason;  // In words, why it ended; empty until then.
  std::string software_version;
  std::string output_folder;
  absl::Time submitted;
  std::optional<absl::Time> started;  // When it was begun first.
  std::optional<absl::Time> ended;
  int64_t attempts = 0;  // How often it was begun.
  // By shard: the storage_id of the replay server that holds it, where that keeps anything on its disk.
  std::map<int64_t, std::string> replay_storage;
};

// What is large and never changes but for last_overview: on the disk alone, and read if it is asked for.
struct ExperimentTexts {
  std::string request_id;      // Of its submission; empty: it had none.
  std::string submitted_yaml;  // As the user wrote it.
  std::string effective_yaml;  // With every value in it.
  // What was known of it when its run was closed last, as the bytes of an OverviewResponse; empty before that.
  std::string last_overview;
};

// Something that has happened to an experiment.
struct ExperimentEvent {
  uint64_t number = 0;  // Of each experiment from 1: larger ones came later. Given by the store.
  absl::Time at;
  std::string text;
};

// Keeps experiments in an SQLite database that no other process uses at the same time. Each change is on the disk when
// its call returns; one that fails changes nothing. Texts may hold any bytes, and times are kept to the microsecond.
// Thread-safe; calls wait for the disk. Every error names the file: RESOURCE_EXHAUSTED for a full disk,
// PERMISSION_DENIED for what cannot be written to, DATA_LOSS for what is damaged.
class ExperimentStore {
 public:
  // Makes the file where it is missing; its folder has to be there. DATA_LOSS for one that is damaged;
  // FAILED_PRECONDITION for one of another format or program; UNAVAILABLE where another process uses it.
  // Of each experiment the newest `max_events` events are kept.
  static absl::StatusOr<std::unique_ptr<ExperimentStore>> Open(const std::string& path, int64_t max_events = 10'000);
  ~ExperimentStore();
  ExperimentStore(const ExperimentStore&) = delete;
  ExperimentStore& operator=(const ExperimentStore&) = delete;

  // Hands all of them to `take`, in the order of their sequence, each with its last_overview. `take` must not call this
  // store.
  using Take = std::function<void(ExperimentRecord record, const std::string& last_overview)>;
  absl::Status Load(const Take& take) ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND if there is no experiment with this id.
  absl::StatusOr<ExperimentTexts> Texts(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // The id of the experiment that this request has submitted; absent if there is none. The request_id is not empty.
  absl::StatusOr<std::optional<std::string>> IdOfRequest(const std::string& request_id) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes a new one in, with the event of its submission, and returns its sequence. ALREADY_EXISTS where there is, or
  // was, one with this id, and where there is one with this request_id.
  absl::StatusOr<int64_t> Add(const ExperimentRecord& record, const ExperimentTexts& texts = {})
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Replaces the record of one, all but its sequence; NOT_FOUND where there is none with this id. `event`: what has
  // happened to it, at the time `at`, kept with the change or not at all; empty: nothing worth telling.
  absl::Status Update(const ExperimentRecord& record, const std::string& event = "", absl::Time at = absl::Now())
      ABSL_LOCKS_EXCLUDED(mutex_);
  // As Update, and replaces its last_overview.
  absl::Status UpdateClosed(const ExperimentRecord& record, const std::string& last_overview)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Forgets one and its events, but for its id, which nobody is given again. NOT_FOUND where there is none.
  absl::Status Delete(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // The ids of all that have been deleted.
  absl::StatusOr<std::vector<std::string>> Deleted() ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds what has happened, by experiment, all of it or nothing: what there is no experiment of is left out. Of each
  // the newest are kept, as many as Open was told.
  absl::Status AddEvents(const std::vector<std::pair<std::string, ExperimentEvent>>& events)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Oldest first, those with numbers above `after`, at most `limit`; NOT_FOUND where there is no such experiment.
  absl::StatusOr<std::vector<ExperimentEvent>> Events(const std::string& id, uint64_t after, int64_t limit)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  ExperimentStore(std::unique_ptr<SqliteDatabase> database, int64_t max_events);
  // `last_overview`: null leaves it as it is.
  absl::Status UpdateLocked(const ExperimentRecord& record, const std::string* last_overview, const std::string& event,
                            absl::Time at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PutEventLocked(int64_t sequence, absl::Time at, const std::string& text)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t max_events_;
  Mutex mutex_;
  const std::unique_ptr<SqliteDatabase> database_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace waggle
