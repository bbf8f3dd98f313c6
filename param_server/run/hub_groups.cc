// What a hub makes of a run's several learners: which of them train together, and the map over which they meet.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "param_server/run/hub.h"

namespace waggle {

std::vector<std::string> Hub::GroupableLocked() const {
  std::vector<std::string> alive;
  for (const WorkerView* const learner : workers_.Alive(Role::kLearner)) {
    if (learner->failure.empty()) {
      alive.push_back(learner->introduction.worker_id);
    }
  }
  return alive;
}

void Hub::FormGroupIfDueLocked(absl::Time now) {
  if (!group_.has_value() || forming_ || IsTrainingOver(tracker_->state()) || !group_->IsDue(GroupableLocked(), now)) {
    return;
  }
  forming_ = true;
  // By its own thread, as it waits for the disk. Cannot be refused: at most one is queued.
  former_->Submit([this] { FormGroup(); }).IgnoreError();
}

void Hub::FormGroup() {
  const absl::StatusOr<uint64_t> epoch = state_->TakeEpoch();
  if (!epoch.ok()) {
    LogError("no group of learners is formed for now: ", epoch.status().message());
    MutexLock lock(&mutex_);
    forming_ = false;
    return;
  }
  // Nobody knows the epoch yet, so that whoever comes to the map finds it ready.
  group_store_.Begin(*epoch);
  MutexLock lock(&mutex_);
  forming_ = false;
  std::vector<std::string> members = GroupableLocked();
  if (members.empty()) {
    return;
  }
  std::vector<int64_t> indices;
  for (const std::string& worker_id : members) {
    workers_.SetEpoch(worker_id, *epoch);
    indices.push_back(workers_.Find(worker_id)->index);
  }
  for (const std::string& worker_id : group_->members()) {
    if (workers_.Find(worker_id) == nullptr) {
      LogWarning(worker_id, " is lost to the group of learners");
    }
  }
  const std::string text = absl::StrCat("a group of epoch ", *epoch, ": learners ", absl::StrJoin(indices, ", "),
                                        " of ", tracker_->plan().learners);
  LogInfo(text);
  NoteLocked(text);
  group_->Form(*epoch, std::move(members));
  AnnounceLocked();
}

}  // namespace waggle
