#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/checkpoint/saved_model.h"

namespace waggle {

struct WeightsFolderOptions {
  std::string folder;
  absl::Duration retry_pause = absl::Seconds(2);
};

// Keeps weights in a folder. A thread of its own writes them, and tries again after a failure until newer weights
// replace them. Thread-safe.
class WeightsFolder {
 public:
  // Reads the folder's weights. DATA_LOSS if they are damaged; an error that names the folder if it cannot be made or
  // written.
  static absl::StatusOr<std::unique_ptr<WeightsFolder>> Open(const WeightsFolderOptions& options);
  ~WeightsFolder();

  // Tries a last time to write unwritten weights, and returns the error. Save must not be called after this.
  absl::Status Finish() ABSL_LOCKS_EXCLUDED(mutex_);

  // The weights found by Open. Called once.
  std::optional<SavedModel> TakeRestored() ABSL_LOCKS_EXCLUDED(mutex_);

  // Writes weights later, in place of written and waiting ones. Ignores a repeated version with the same remark.
  void Save(SavedModel model) ABSL_LOCKS_EXCLUDED(mutex_);

  // True if weights wait to be written.
  bool pending() const ABSL_LOCKS_EXCLUDED(mutex_);
  // The error of the last attempt; OK after a success.
  absl::Status failure() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  WeightsFolder(const WeightsFolderOptions& options, std::unique_ptr<CheckpointStore> store,
                std::optional<SavedModel> restored);

  static absl::StatusOr<std::unique_ptr<CheckpointStore>> OpenStore(const WeightsFolderOptions& options);
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the next weights to write; absent once all are written and this object is being destroyed.
  std::optional<SavedModel> WaitForNext() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Write(const SavedModel& model);
  // Keeps unwritten weights for the next attempt, unless newer ones wait.
  void Note(SavedModel model, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);

  const WeightsFolderOptions options_;
  const StopToken closing_;
  std::unique_ptr<CheckpointStore> store_;  // Used by thread_. Null after a failure, as the folder may have gone.
  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<SavedModel> restored_ ABSL_GUARDED_BY(mutex_);
  std::optional<SavedModel> next_ ABSL_GUARDED_BY(mutex_);
  ModelVersion last_version_ ABSL_GUARDED_BY(mutex_);               // The last saved version.
  std::optional<std::string> last_remark_ ABSL_GUARDED_BY(mutex_);  // Its remark; absent before the first.
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  Thread thread_;  // Last: it uses everything above.
};

}  // namespace waggle
