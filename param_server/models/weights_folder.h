#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/stop_token.h"
#include "common/base/thread.h"
#include "common/checkpoint/checkpoint_store.h"
#include "common/checkpoint/saved_model.h"

namespace waggle {

struct WeightsFolderOptions {
  std::string folder;
  absl::Duration retry_pause = absl::Seconds(2);
};

// Keeps weights in a folder, written by a thread of its own. What cannot be written is tried again until it is, or
// newer weights take its place. Thread-safe.
class WeightsFolder {
 public:
  // Reads what is there. DATA_LOSS if that is damaged; an error that names the folder if it cannot be made or written
  // to.
  static absl::StatusOr<std::unique_ptr<WeightsFolder>> Open(const WeightsFolderOptions& options);
  ~WeightsFolder();

  // Tries a last time to write what is not written, and returns why it cannot be. Nothing may be saved after that.
  absl::Status Finish() ABSL_LOCKS_EXCLUDED(mutex_);

  // What was there when this was opened; once.
  std::optional<SavedModel> TakeRestored() ABSL_LOCKS_EXCLUDED(mutex_);

  // Has weights written in the place of what was written before and of what still waits. Nothing is written again for
  // the same version and remark.
  void Save(SavedModel model) ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether something is not written yet.
  bool pending() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Why the last attempt failed; OK if it did not.
  absl::Status failure() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  WeightsFolder(const WeightsFolderOptions& options, std::unique_ptr<CheckpointStore> store,
                std::optional<SavedModel> restored);

  static absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenStore(const WeightsFolderOptions& options);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // The next to write; nothing once all is written and this object is being destroyed.
  std::optional<SavedModel> WaitForNext() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Write(const SavedModel& model);
  // Keeps weights that could not be written for the next attempt, unless newer ones wait.
  void Note(SavedModel model, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  const WeightsFolderOptions options_;
  const StopToken closing_;
  std::unique_ptr<CheckpointStore> store_;  // Of thread_. Null after a failure: the folder itself may have gone.
  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<SavedModel> restored_ ABSL_GUARDED_BY(mutex_);
  std::optional<SavedModel> next_ ABSL_GUARDED_BY(mutex_);
  ModelVersion last_version_ ABSL_GUARDED_BY(mutex_);               // Of what was handed over last.
  std::optional<std::string> last_remark_ ABSL_GUARDED_BY(mutex_);  // Its remark; absent before the first.
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  Thread thread_;  // Last: it uses everything above.
};

}  // namespace waggle
