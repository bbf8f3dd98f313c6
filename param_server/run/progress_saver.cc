#include "param_server/run/progress_saver.h"

#include <utility>

#include "common/base/log.h"

namespace waggle {
namespace {

// A killed hub loses this much of a run, except urgent changes.
constexpr absl::Duration kSavePeriod = absl::Seconds(5);
// Between two attempts to save an urgent change.
constexpr absl::Duration kRetryPause = absl::Seconds(1);
// One that runs, and one that will see later changes.
constexpr size_t kMaxSaves = 2;

}  // namespace

ProgressSaver::ProgressSaver(HubState* state, Clock clock, std::function<void()> prepare,
                             std::function<void(HubRecord*)> fill)
    : state_(state),
      clock_(std::move(clock)),
      prepare_(std::move(prepare)),
      fill_(std::move(fill)),
      thread_(std::in_place, "hub-saver", 1, kMaxSaves) {}

ProgressSaver::~ProgressSaver() {
  thread_.reset();  // A running save may fail.
  prepare_();
  SaveIfChanged().IgnoreError();
}

void ProgressSaver::NoteChange() {
  MutexLock lock(&mutex_);
  changed_ = true;
}

void ProgressSaver::NoteUrgentChange() {
  MutexLock lock(&mutex_);
  urgent_ = true;
}

void ProgressSaver::SaveIfDue(absl::Time now) {
  MutexLock lock(&mutex_);
  const absl::Duration urgent_pause = failure_.empty() ? absl::ZeroDuration() : kRetryPause;
  const absl::Duration since_last = now - last_save_;
  if (!queued_ && ((urgent_ && since_last >= urgent_pause) || (changed_ && since_last >= kSavePeriod))) {
    queued_ = thread_->Submit([this] { SaveNow().IgnoreError(); }).ok();
  }
}

absl::Status ProgressSaver::SaveIfChanged() {
  {
    MutexLock lock(&mutex_);
    if (!changed_ && !urgent_) {
      return absl::OkStatus();
    }
  }
  return SaveNow();
}

absl::Status ProgressSaver::SaveNow() {
  prepare_();
  bool urgent = false;
  const absl::Status status = state_->Update([this, &urgent](HubRecord* record) {
    {
      // Under the record's lock, so that the later of two saves writes the newer progress.
      MutexLock lock(&mutex_);
      urgent = std::exchange(urgent_, false);
      queued_ = changed_ = false;
      last_save_ = clock_();
    }
    fill_(record);
  });
  MutexLock lock(&mutex_);
  changed_ = changed_ || !status.ok();
  urgent_ = urgent_ || (urgent && !status.ok());
  if (const std::string before = std::exchange(failure_, std::string(status.message())); before != failure_) {
    status.ok() ? LogInfo("the run's progress is saved again")
                : LogError("the run's progress is not saved and would be lost with this process: ", status.message());
  }
  return status;
}

std::string ProgressSaver::failure() const {
  MutexLock lock(&mutex_);
  return failure_;
}

}  // namespace waggle
