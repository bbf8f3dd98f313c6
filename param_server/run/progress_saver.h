#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/threads/executor.h"
#include "common/base/threads/mutex.h"
#include "param_server/run/hub_state.h"

namespace waggle {

// The time; never goes back.
using Clock = std::function<absl::Time()>;

// Saves the progress of a run into its record, in a thread of its own. A killed hub loses a few seconds of it at most.
// Thread-safe; only SaveNow, SaveIfChanged and the destructor wait for the disk.
class ProgressSaver {
 public:
  // `state` outlives this. A save calls `prepare` without a lock, then `fill` for the record, under the record's lock.
  ProgressSaver(HubState* state, Clock clock, std::function<void()> prepare, std::function<void(HubRecord*)> fill);
  // Tries a last time to save changes.
  ~ProgressSaver();

  // Progress has changed: it must be saved within seconds, or at once if the change is urgent.
  void NoteChange() ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteUrgentChange() ABSL_LOCKS_EXCLUDED(mutex_);
  // Queues a save of changes if it is due.
  void SaveIfDue(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Saves all changes. Failed saves are tried again.
  absl::Status SaveNow() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status SaveIfChanged() ABSL_LOCKS_EXCLUDED(mutex_);

  // Why the last save failed; empty if it did not.
  std::string failure() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  HubState* const state_;
  const Clock clock_;
  const std::function<void()> prepare_;
  const std::function<void(HubRecord*)> fill_;
  mutable Mutex mutex_;
  bool changed_ ABSL_GUARDED_BY(mutex_) = false;
  bool urgent_ ABSL_GUARDED_BY(mutex_) = false;
  bool queued_ ABSL_GUARDED_BY(mutex_) = false;  // A queued save will see the next change.
  absl::Time last_save_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::string failure_ ABSL_GUARDED_BY(mutex_);
  std::optional<Executor> thread_;
};

}  // namespace waggle
