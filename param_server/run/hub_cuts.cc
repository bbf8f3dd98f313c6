#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "param_server/run/hub.h"

// The hub's part of cuts.

namespace waggle {
namespace {

// The longest wait for the weights of a cut to be on the disk, and the pause between two looks.
constexpr absl::Duration kWeightsPatience = absl::Seconds(60);
constexpr absl::Duration kLookPause = absl::Milliseconds(5);

}  // namespace

absl::StatusOr<uint64_t> Hub::BeginCut() {
  MutexLock lock(&mutex_);
  return course_.BeginCut(options_.clock());
}

Hub::CutStanding Hub::cut_standing() const {
  MutexLock lock(&mutex_);
  const CutCourse& cuts = course_.cuts();
  return {cuts.in_progress(), cuts.failed(), cuts.failure()};
}

CounterSums Hub::CountersLocked(absl::Time now) const {
  CounterSums sums = options_.earlier_counters;
  for (const WorkerView& worker : workers_.Overview(now)) {
    const Role role = worker.introduction.role;
    if (role != Role::kParamServer) {
      for (const auto& [name, value] : worker.figures->counters) {
        sums[role][name] += value;
      }
    }
  }
  return sums;
}

absl::StatusOr<std::string> Hub::RecordOfCut() {
  const Deadline deadline(kWeightsPatience);
  while (HasUnsavedWeights()) {
    if (deadline.Left() <= absl::ZeroDuration()) {
      return absl::UnavailableError(absl::StrCat("the weights are not on the disk: ", weights_->Unsaved()));
    }
    StopToken().WaitFor(kLookPause);
  }
  return EncodeHubRecord(state_->record());
}

void Hub::SaveCut(uint64_t number, const absl::Status& prepared) {
  CutFacts facts;
  std::optional<TurnState> turns;
  CounterSums counters;
  {
    const absl::Time now = options_.clock();
    MutexLock lock(&mutex_);
    facts = course_.PresentCut(absl::Now());
    turns = course_.TurnsAfterCut();
    counters = CountersLocked(now);
  }
  absl::Status status = prepared;
  if (status.ok() && facts.number != number) {
    status = absl::FailedPreconditionError("the learner has not made its part");
  }
  if (status.ok()) {
    status = SavePartOfCut(facts, turns, std::move(counters));
  }
  MutexLock lock(&mutex_);
  course_.CutSaved(number, status);
}

absl::Status Hub::SavePartOfCut(const CutFacts& facts, const std::optional<TurnState>& turns, CounterSums counters) {
  if (options_.cut_folder == nullptr) {
    return absl::FailedPreconditionError("the hub has no folder for cuts");
  }
  WAGGLE_RETURN_IF_ERROR(saver_.SaveNow());  // So a later hub's counters are never behind the cut.
  std::optional<CutFolder::LockStep> lock_step;
  if (turns.has_value()) {
    WAGGLE_ASSIGN_OR_RETURN(std::string record, RecordOfCut());
    lock_step = CutFolder::LockStep{*turns, std::move(record), std::move(counters)};
  }
  return options_.cut_folder->Save(facts, lock_step);
}

void Hub::EndReturnLocked() {
  if (options_.cut_folder == nullptr || !course_.TakeAllReturned()) {
    return;
  }
  // Waits for the disk. A later hub asks again if it is not done.
  background_
      .Submit([folder = options_.cut_folder] {
        if (const absl::Status forgotten = folder->ForgetRestoration(); !forgotten.ok()) {
          LogWarning("replay servers will be asked again to go back to a cut: ", forgotten.message());
        }
      })
      .IgnoreError();
}

}  // namespace waggle
