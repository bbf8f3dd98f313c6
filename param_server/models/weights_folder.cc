#include "param_server/models/weights_folder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<std::unique_ptr<WeightsFolder>> WeightsFolder::Open(const WeightsFolderOptions& options) {
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<CheckpointStore> store, OpenStore(options));
  const absl::StatusOr<std::optional<CheckpointContents>> contents = store->LoadLatest();
  WAGGLE_RETURN_IF_ERROR(Annotate(contents.status(), absl::StrCat(options.folder, " (move it away to do without)")));
  std::optional<SavedModel> restored;
  if (contents->has_value()) {
    absl::StatusOr<SavedModel> model = ToSavedModel(**contents);
    WAGGLE_RETURN_IF_ERROR(Annotate(model.status(), options.folder));
    restored = *std::move(model);
  }
  return std::unique_ptr<WeightsFolder>(new WeightsFolder(options, std::move(store), std::move(restored)));
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> WeightsFolder::OpenStore(const WeightsFolderOptions& options) {
  return CheckpointStore::Open(options.folder, /*keep=*/1);
}

WeightsFolder::WeightsFolder(const WeightsFolderOptions& options, std::unique_ptr<CheckpointStore> store,
                             std::optional<SavedModel> restored)
    : options_(options),
      store_(std::move(store)),
      restored_(std::move(restored)),
      thread_("weights-folder", [this] { Run(); }) {}

WeightsFolder::~WeightsFolder() {
  Finish().IgnoreError();  // Logged.
}

absl::Status WeightsFolder::Finish() {
  closing_.RequestStop();
  {
    MutexLock lock(&mutex_);
    changed_.SignalAll();
  }
  thread_.Join();
  return failure();
}

std::optional<SavedModel> WeightsFolder::TakeRestored() {
  MutexLock lock(&mutex_);
  if (restored_.has_value()) {
    last_version_ = restored_->snapshot.version;
    last_remark_ = restored_->remark;
  }
  return std::exchange(restored_, std::nullopt);
}

void WeightsFolder::Save(SavedModel model) {
  std::optional<SavedModel> replaced;  // Destroyed outside the lock: freeing a large block takes a while.
  MutexLock lock(&mutex_);
  if (last_remark_ == model.remark && last_version_ == model.snapshot.version) {
    return;
  }
  last_version_ = model.snapshot.version;
  last_remark_ = model.remark;
  replaced = std::exchange(next_, std::move(model));
  changed_.SignalAll();
}

bool WeightsFolder::pending() const {
  MutexLock lock(&mutex_);
  return writing_ || next_.has_value();
}

absl::Status WeightsFolder::failure() const {
  MutexLock lock(&mutex_);
  return failure_;
}

void WeightsFolder::Run() {
  while (std::optional<SavedModel> model = WaitForNext()) {
    const bool last_attempt = closing_.StopRequested();
    const absl::Status status = Write(*model);
    Note(*std::move(model), status);
    if (!status.ok() && last_attempt) {
      return;
    }
    if (!status.ok()) {
      closing_.WaitFor(options_.retry_pause);
    }
  }
}

std::optional<SavedModel> WeightsFolder::WaitForNext() {
  MutexLock lock(&mutex_);
  while (!next_.has_value() && !closing_.StopRequested()) {
    changed_.Wait(&mutex_);
  }
  writing_ = next_.has_value();
  return std::exchange(next_, std::nullopt);
}

absl::Status WeightsFolder::Write(const SavedModel& model) {
  absl::Status status;
  if (store_ == nullptr) {
    absl::StatusOr<std::unique_ptr<CheckpointStore>> store = OpenStore(options_);
    status = store.status();
    store_ = status.ok() ? *std::move(store) : nullptr;
  }
  if (status.ok()) {
    status = WriteSavedModel(model, store_.get());
  }
  if (!status.ok()) {
    store_.reset();
  }
  return status;
}

void WeightsFolder::Note(SavedModel model, const absl::Status& status) {
  MutexLock lock(&mutex_);
  if (!status.ok() && failure_.ok()) {
    LogError("weights ", model.snapshot.version.version, " cannot be written to ", options_.folder,
             ", which is tried again: ", status.message());
  } else if (status.ok() && !failure_.ok()) {
    LogInfo("weights are written to ", options_.folder, " again");
  }
  failure_ = status;
  writing_ = false;
  if (!status.ok() && !next_.has_value()) {
    next_ = std::move(model);
  }
}

}  // namespace waggle
