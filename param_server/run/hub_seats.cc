// Hub's part in who joins and leaves; the rest of the class is in hub.cc.

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "param_server/run/hub.h"

namespace waggle {
namespace {

// Lives are counted up by one, so that a larger one can only be wrong; what is left is room to count on.
constexpr uint64_t kMaxLife = uint64_t{1} << 62;

}  // namespace

void Hub::Order(const WorkerIntroduction& worker, int64_t index) {
  const absl::Time now = options_.clock();
  MutexLock lock(&mutex_);
  if (const std::string holder = workers_.HolderOf(worker.role, index); !holder.empty()) {
    DismissLocked(holder, absl::StrCat("its seat has been given to ", worker.worker_id), now);
  }
  workers_.Order(worker, index, now);
}

std::optional<Role> Hub::RoleOf(const std::string& worker_id) const {
  MutexLock lock(&mutex_);
  return workers_.OrderedRole(worker_id);
}

absl::Status Hub::CheckEpoch(uint64_t epoch) const {
  if (epoch <= state_->last_epoch()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("epoch ", epoch, " was given to no learner of this run; the largest that was is ",
                   state_->last_epoch(), "; a parameter server whose --data-dir was lost needs new learners"));
}

absl::Status Hub::Number(Role role, int64_t index, WorkerArrival* arrival) {
  absl::Status status;
  if (role == Role::kLearner && arrival->epoch == 0) {
    status = Annotate(state_->Update([arrival](HubRecord* record) { arrival->epoch = ++record->last_epoch; }),
                      "the parameter server cannot write this learner's epoch down");
  } else if (role == Role::kActor || role == Role::kEvaluator) {
    status = state_->Update([&](HubRecord* record) {
      uint64_t& lives = record->lives[{role, index}];
      const uint64_t life = arrival->life.value_or(lives);
      arrival->life = life;
      lives = std::max(lives, life + 1);
      if (role == Role::kActor) {
        record->progress.steps_of.emplace(arrival->worker_id, 0);  // A hub that comes after is to wait for its leases.
      }
    });
    if (!status.ok()) {  // Its disk may be full for a moment, which is no reason for an actor to end.
      status = absl::UnavailableError(
          absl::StrCat("the parameter server cannot write this worker's life down: ", status.message()));
    }
  }
  if (!status.ok()) {
    LogError(RoleName(role), " ", index, " cannot join: ", status.message());
  }
  return status;
}

absl::StatusOr<Hub::Seat> Hub::Join(const WorkerArrival& arrival) {
  if (arrival.life.value_or(0) > kMaxLife) {
    return absl::InvalidArgumentError(absl::StrCat("life ", *arrival.life, " was given to nobody"));
  }
  const absl::Time now = options_.clock();
  WorkerArrival numbered = arrival;
  Role role = Role::kActor;
  Seat seat;
  {
    MutexLock lock(&mutex_);
    WAGGLE_ASSIGN_OR_RETURN(const WorkerView* const ordered, workers_.CheckArrival(arrival));
    role = ordered->introduction.role;
    seat.index = ordered->index;
    if (!numbered.life.has_value()) {
      numbered.life = ordered->life;  // The answer to its first Join was lost.
    }
    // Before it is on the disk as well, so that no save of the run's progress drops it there.
    if (role == Role::kActor && tracker_.has_value()) {
      tracker_->ReportEnvSteps(arrival.worker_id, 0, now);
    }
  }
  const bool is_learner = role == Role::kLearner;
  if (is_learner) {
    WAGGLE_RETURN_IF_ERROR(CheckEpoch(arrival.epoch));
  }
  WAGGLE_RETURN_IF_ERROR(Number(role, seat.index, &numbered));
  bool reopened = false;
  {
    MutexLock lock(&mutex_);
    WAGGLE_ASSIGN_OR_RETURN(const WorkerView* const worker, workers_.Join(numbered, now));
    seat.epoch = worker->epoch;
    seat.life = worker->life.value_or(0);
    reopened = is_learner && ReopenForLocked(seat.epoch, now);
    FormGroupIfDueLocked(now);
    seat.env_steps = tracker_.has_value() ? static_cast<int64_t>(tracker_->env_steps()) : 0;
    if (reopened || !arrival.address.empty()) {  // Somebody may be waiting to find it.
      AnnounceLocked();
    }
    seat.assignment = AssignmentLocked(*worker);
    const WorkerIntroduction& who = worker->introduction;
    const std::string text = absl::StrCat(RoleName(role), " ", seat.index, " joined from ", absl::CHexEscape(who.host),
                                          ", process ", who.process_id, who.address.empty() ? "" : ", serving at ",
                                          who.address, is_learner ? absl::StrCat(", epoch ", seat.epoch) : "");
    LogInfo(text);
    NoteLocked(text);
  }
  seat.assignment.experiment_yaml = experiment_yaml_;
  if (reopened) {
    SaveProgress().IgnoreError();  // It is written later otherwise.
  }
  return seat;
}

void Hub::NoteLostItemsLocked(const WorkerView& worker) const {
  const auto items = worker.figures->gauges.find("items");
  if (worker.introduction.role == Role::kReplayServer && tracker_.has_value() && !tracker_->plan().keeps_items &&
      !IsTrainingOver(tracker_->state()) && items != worker.figures->gauges.end() && items->second > 0) {
    const std::string text = absl::StrFormat(
        "the items of replay server %d are lost, %.0f when it was last heard from: replay.durability: none",
        worker.index, items->second);
    LogWarning(text);
    NoteLocked(text);
  }
}

void Hub::LeaveLocked(const std::string& worker_id, const std::string& barred, absl::Time now) {
  const WorkerView* const worker = workers_.Find(worker_id);
  if (worker != nullptr) {
    NoteLostItemsLocked(*worker);
  }
  // A learner's last weights are written when it goes.
  urgent_ = urgent_ || (worker != nullptr && tracker_.has_value() && worker->introduction.role == Role::kLearner);
  workers_.Leave(worker_id, now, barred);
  last_evaluation_of_.erase(worker_id);
  if (step_leases_.has_value()) {
    step_leases_->Return(worker_id);
  }
  if (tracker_.has_value()) {
    tracker_->Forget(worker_id);
    ConcludeLocked(now);
  }
  FormGroupIfDueLocked(now);
}

void Hub::Leave(const std::string& worker_id) {
  const absl::Time now = options_.clock();
  bool save = false;
  {
    MutexLock lock(&mutex_);
    if (const WorkerView* const worker = workers_.Find(worker_id); worker != nullptr) {
      LogInfo(RoleName(worker->introduction.role), " ", worker->index, " left");
    }
    LeaveLocked(worker_id, /*barred=*/"", now);
    save = TakeSaveDueLocked(now);
  }
  models_->KeepHolders([&worker_id](const std::string& holder) { return holder != worker_id; });
  if (save) {
    SaveSoon();
  }
}

void Hub::Dismiss(const std::string& worker_id, const std::string& why) {
  const absl::Time now = options_.clock();
  bool save = false;
  {
    MutexLock lock(&mutex_);
    DismissLocked(worker_id, why, now);
    save = TakeSaveDueLocked(now);
  }
  if (save) {
    SaveSoon();
  }
}

void Hub::DismissLocked(const std::string& worker_id, const std::string& why, absl::Time now) {
  const WorkerView* const worker = workers_.Find(worker_id);
  if (worker == nullptr) {
    workers_.Leave(worker_id, now);  // It may not join any more.
    return;
  }
  LogWarning(RoleName(worker->introduction.role), " ", worker->index, " is dismissed: ", why);
  if (worker->introduction.role == Role::kLearner && !group_.has_value()) {
    fenced_epoch_ = std::max(fenced_epoch_, worker->epoch);
  }
  LeaveLocked(worker_id, absl::StrCat("this worker has been dismissed: ", why), now);
}

void Hub::SetAway(const std::string& worker_id) {
  MutexLock lock(&mutex_);
  workers_.SetAway(worker_id);
}

}  // namespace waggle
