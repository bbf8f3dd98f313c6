// Hub's part in who joins and leaves; the rest of the class is in hub.cc.
// No test of its own: tests/param_server/workers/hub_test.cc sees it.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "param_server/workers/hub.h"

namespace waggle {
namespace {

// Lives are counted up by one, so that a larger one can only be wrong; what is left is room to count on.
constexpr uint64_t kMaxLife = uint64_t{1} << 62;

}  // namespace

absl::Status Hub::CheckEpoch(const WorkerIntroduction& learner) const {
  if (learner.role != Role::kLearner || learner.epoch <= state_->last_epoch()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("epoch ", learner.epoch, " was given to no learner of this run; the largest that was is ",
                   state_->last_epoch(), "; a parameter server whose --data-dir was lost needs new learners"));
}

absl::Status Hub::NumberSeat(const WorkerIntroduction& worker, Seat* seat) {
  absl::Status status;
  if (worker.role == Role::kLearner) {
    seat->epoch = worker.epoch;
    if (worker.epoch == 0) {
      status = state_->Update([seat](HubRecord* record) { seat->epoch = ++record->last_epoch; });
    }
    status = Annotate(status, "the parameter server cannot write this learner's epoch down");
  } else if (worker.role == Role::kActor || worker.role == Role::kEvaluator) {
    status = state_->Update([&worker, seat](HubRecord* record) {
      // One that joins again may sit elsewhere now; its life goes with the index that it had.
      const int64_t index = worker.life.has_value() ? worker.index.value_or(seat->index) : seat->index;
      uint64_t& lives = record->lives[{worker.role, index}];
      seat->life = worker.life.value_or(lives);
      lives = std::max(lives, seat->life + 1);
      if (worker.role == Role::kActor) {
        record->progress.steps_of.emplace(worker.worker_id, 0);  // A hub that comes after is to wait for its leases.
      }
    });
    if (!status.ok()) {  // Its disk may be full for a moment, which is no reason for an actor to end.
      status = absl::UnavailableError(
          absl::StrCat("the parameter server cannot write this worker's life down: ", status.message()));
    }
  }
  if (!status.ok()) {
    LogError(RoleName(worker.role), " ", seat->index, " cannot join: ", status.message());
  }
  return status;
}

absl::Status Hub::CheckReplayServerLocked(const WorkerIntroduction& introduction) const {
  if (introduction.role != Role::kReplayServer || !introduction.own_index.has_value() || !tracker_.has_value() ||
      *introduction.own_index < tracker_->plan().replay_servers) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("replay server ", *introduction.own_index,
                                                 ": the run has replay.servers: ", tracker_->plan().replay_servers,
                                                 ", so indices are 0 to ", tracker_->plan().replay_servers - 1));
}

absl::StatusOr<Hub::Seat> Hub::Join(const WorkerIntroduction& introduction) {
  const bool is_learner = introduction.role == Role::kLearner;
  WAGGLE_RETURN_IF_ERROR(CheckEpoch(introduction));
  if (introduction.life.value_or(0) > kMaxLife) {
    return absl::InvalidArgumentError(absl::StrCat("life ", *introduction.life, " was given to nobody"));
  }
  const absl::Time now = options_.clock();
  WorkerIntroduction numbered = introduction;  // With the life that it has already.
  Seat seat;
  {
    MutexLock lock(&mutex_);
    WAGGLE_RETURN_IF_ERROR(CheckReplayServerLocked(introduction));
    WAGGLE_RETURN_IF_ERROR(CheckLearnerLocked(introduction));
    if (const WorkerView* const known = workers_.Find(introduction.worker_id);
        known != nullptr && known->life.has_value() && !introduction.life.has_value()) {
      numbered.life = known->life;  // The answer to its first Join was lost.
      numbered.index = known->index;
    }
    WorkerIntroduction seated = introduction;
    seated.index = numbered.index;  // So that no two workers have the same index and life.
    const std::vector<WorkerView> before =
        introduction.role == Role::kReplayServer ? workers_.Seated(Role::kReplayServer) : std::vector<WorkerView>();
    WAGGLE_ASSIGN_OR_RETURN(seat.index, workers_.Join(seated, is_learner ? introduction.epoch : 0, now));
    for (const WorkerView& worker : before) {
      if (workers_.Find(worker.introduction.worker_id) == nullptr) {
        NoteLostItemsLocked(worker);  // The one that joins has its seat, or its address.
      }
    }
    if (introduction.role == Role::kActor && tracker_.has_value()) {
      tracker_->ReportEnvSteps(introduction.worker_id, 0, now);
    }
  }
  // Once it has a seat: one that is refused takes no number.
  if (const absl::Status status = NumberSeat(numbered, &seat); !status.ok()) {
    Leave(introduction.worker_id);
    return status;
  }
  bool reopened = false;
  {
    MutexLock lock(&mutex_);
    workers_.SetEpoch(introduction.worker_id, seat.epoch);
    workers_.SetLife(introduction.worker_id, seat.life);
    const WorkerView* const worker = workers_.Find(introduction.worker_id);
    if (worker == nullptr) {
      return absl::UnavailableError("another worker has taken this one's seat meanwhile");
    }
    reopened = is_learner && ReopenForLocked(seat.epoch, now);
    FormGroupIfDueLocked(now);
    seat.env_steps = tracker_.has_value() ? static_cast<int64_t>(tracker_->env_steps()) : 0;
    if (reopened || !introduction.address.empty()) {  // Somebody may be waiting to find it.
      AnnounceLocked();
    }
    seat.assignment = AssignmentLocked(*worker, now);
    const std::string text =
        absl::StrCat(RoleName(introduction.role), " ", seat.index, " joined from ", absl::CHexEscape(introduction.host),
                     ", process ", introduction.process_id, introduction.address.empty() ? "" : ", serving at ",
                     introduction.address, is_learner ? absl::StrCat(", epoch ", seat.epoch) : "");
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

void Hub::LeaveLocked(const std::string& worker_id, absl::Time now) {
  const WorkerView* const worker = workers_.Find(worker_id);
  if (worker != nullptr) {
    NoteLostItemsLocked(*worker);
  }
  // A learner's last weights are written when it goes.
  urgent_ = urgent_ || (worker != nullptr && tracker_.has_value() && worker->introduction.role == Role::kLearner);
  workers_.Leave(worker_id, now);
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
    LeaveLocked(worker_id, now);
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
    const WorkerView* const worker = workers_.Find(worker_id);
    if (worker == nullptr) {
      return;
    }
    LogWarning(RoleName(worker->introduction.role), " ", worker->index, " is dismissed: ", why);
    if (worker->introduction.role == Role::kLearner && !group_.has_value()) {
      fenced_epoch_ = std::max(fenced_epoch_, worker->epoch);
    }
    LeaveLocked(worker_id, now);
    workers_.Bar(worker_id, absl::StrCat("this worker has been dismissed: ", why));
    save = TakeSaveDueLocked(now);
  }
  if (save) {
    SaveSoon();
  }
}

}  // namespace waggle
