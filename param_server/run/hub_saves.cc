// The part of Hub that writes a run down, at its times. The rest of the class is in hub.cc.

#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "param_server/run/hub.h"

namespace waggle {
namespace {

// How much of a run a hub that is killed may forget; what has ended or begun is written at once.
constexpr absl::Duration kSavePeriod = absl::Seconds(5);
// After a save that failed, before what is urgent is tried again.
constexpr absl::Duration kRetryPause = absl::Seconds(1);
// Workers that have not joined again so long after a restart count as gone.
constexpr absl::Duration kRejoinTime = absl::Hours(1);

}  // namespace

bool Hub::TakeSaveDueLocked(absl::Time now) {
  const absl::Duration urgent_pause = progress_unsaved_.empty() ? absl::ZeroDuration() : kRetryPause;
  const absl::Duration since_last = now - last_save_;
  if (saving_ || !((urgent_ && since_last >= urgent_pause) || (unsaved_ && since_last >= kSavePeriod))) {
    return false;
  }
  saving_ = true;
  return true;
}

void Hub::SaveSoon() {
  if (const absl::Status status = saver_->Submit([this] { SaveProgress().IgnoreError(); }); !status.ok()) {
    // Cannot be while at most one is queued; tried again with the next report all the same.
    LogWarning("the run's progress is saved later: ", status.message());
    MutexLock lock(&mutex_);
    saving_ = false;
  }
}

void Hub::ForgetUnknownLocked() {
  if (options_.clock() - begun_ > kRejoinTime) {
    restored_.clear();
  }
  const auto knows = [this](const std::string& worker_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return workers_.Knows(worker_id) || restored_.count(worker_id) > 0;
  };
  tracker_->KeepOnly(knows);
  totals_.KeepOnly(knows);
  for (auto last = last_evaluation_of_.begin(); last != last_evaluation_of_.end();) {
    last = knows(last->first) ? std::next(last) : last_evaluation_of_.erase(last);
  }
}

absl::Status Hub::SaveProgress() {
  SaveWeights();
  bool urgent = false;
  const absl::Status status = state_->Update([this, &urgent](HubRecord* record) {
    // Read here, under the record's lock: of two savers the later one writes what is newer.
    MutexLock lock(&mutex_);
    urgent = urgent_;
    saving_ = unsaved_ = urgent_ = false;
    last_save_ = options_.clock();
    ForgetUnknownLocked();
    record->progress = tracker_->progress();
    record->totals = totals_;
    if (!evaluations_.empty()) {
      record->last_evaluation = evaluations_.back();
    }
  });
  MutexLock lock(&mutex_);
  unsaved_ = unsaved_ || !status.ok();
  urgent_ = urgent_ || (urgent && !status.ok());
  if (const std::string before = std::exchange(progress_unsaved_, std::string(status.message()));
      before != progress_unsaved_) {
    status.ok() ? LogInfo("the run's progress is saved again")
                : LogError("the run's progress is not saved and would be lost with this process: ", status.message());
  }
  return status;
}

void Hub::SaveWeights() {
  if (options_.newest_weights == nullptr) {
    return;
  }
  std::shared_ptr<const StoredModel> newest;
  std::set<std::string> alive;
  {
    MutexLock lock(&mutex_);
    if (!tracker_.has_value()) {
      return;
    }
    newest = models_->Newest(tracker_->plan().name);
    for (const WorkerView* evaluator : workers_.Alive(Role::kEvaluator)) {
      alive.insert(evaluator->introduction.worker_id);
    }
  }
  models_->KeepHolders([&alive](const std::string& holder) { return alive.count(holder) > 0; });
  if (newest != nullptr) {
    options_.newest_weights->Save({newest->snapshot, experiment_yaml_});
  }
}

std::string Hub::WeightsUnsaved() const {
  if (options_.newest_weights == nullptr) {
    return "";
  }
  const bool pending = options_.newest_weights->pending() || options_.best_weights->pending();
  const absl::Status failure = WeightsFailure();
  return !failure.ok() ? std::string(failure.message()) : pending ? "they are being written" : "";
}

absl::Status Hub::WeightsFailure() const {
  for (const WeightsFolder* folder : {options_.newest_weights, options_.best_weights}) {
    if (folder != nullptr) {
      WAGGLE_RETURN_IF_ERROR(folder->failure());
    }
  }
  return absl::OkStatus();
}

}  // namespace waggle
