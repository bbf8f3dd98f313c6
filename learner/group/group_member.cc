#include "learner/group/group_member.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "learner/group/share_state.h"

namespace waggle {

void GroupMember::Leave() {
  left_.RequestStop();
  watch_.Join();
  on_stop_.reset();
  if (pushed_ != nullptr) {
    abandoned_.RequestStop();  // For the threads that serve other learners.
    // The next group continues with all steps of this one.
    if (const absl::Status copied = pushed_->WithNewest([] { return absl::OkStatus(); }); !copied.ok()) {
      LogError("the newest values of the group are lost: ", copied.ToString());
    }
    pushed_.reset();
  }
  collective_.reset();
  store_.reset();
}

absl::Status GroupMember::Attend(const std::string& algorithm, Trainee* trainee, int64_t* step, const StopToken& stop) {
  while (true) {
    if (seat_.has_value()) {
      options_.hub->ReportBrokenGroup(seat_->epoch);
    }
    Leave();
    const uint64_t last = epoch();
    WAGGLE_ASSIGN_OR_RETURN(
        const Assignment assignment,
        options_.hub->WaitUntil(
            [last](const Assignment& said) { return said.group.has_value() && said.group->epoch > last; }, stop));
    seat_ = assignment.group;
    const StopToken abandoned;
    const StopToken left;
    abandoned_ = abandoned;
    left_ = left;
    on_stop_ = std::make_unique<StopToken::Callback>(stop, [abandoned] { abandoned.RequestStop(); });
    watch_ = Thread("group", [this, abandoned, left, epoch = seat_->epoch] {
      while (!left.WaitFor(options_.watch_period)) {
        const std::optional<GroupSeat> now = options_.hub->assignment().group;
        if (now.has_value() && now->epoch != epoch) {
          abandoned.RequestStop();
          return;
        }
      }
    });
    const absl::Status met = Meet(algorithm, trainee, step);
    if (met.ok()) {
      LogInfo("learner ", seat_->rank, " of ", seat_->size, " in the group of epoch ", seat_->epoch, ", from step ",
              *step);
      return met;
    }
    if (!absl::IsAborted(met)) {
      return met;
    }
    // If the hub has formed a later group, this learner hears of it meanwhile.
    if (!abandoned.WaitFor(options_.retry_pause)) {
      LogWarning("the group of epoch ", seat_->epoch, " could not be formed: ", met.message());
    }
    if (stop.StopRequested()) {
      return absl::CancelledError("stopped while a group was formed");
    }
  }
}

absl::Status GroupMember::Meet(const std::string& algorithm, Trainee* trainee, int64_t* step) {
  if (seat_->size == 1) {
    has_met_ = true;
    return absl::OkStatus();
  }
  settings_.reset();
  store_ = options_.new_store(seat_->epoch);
  const auto rank = static_cast<int>(seat_->rank);
  WAGGLE_ASSIGN_OR_RETURN(
      collective_, Collective::Connect({rank, static_cast<int>(seat_->size), options_.host}, store_.get(), abandoned_));
  // Among equal steps a former member of a group wins: a new learner may have come with weights alone.
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<int64_t> ranking, collective_->Gather(2 * *step + (has_met_ ? 1 : 0)));
  const auto ahead = std::max_element(ranking.begin(), ranking.end());  // The first of equal ones.
  WAGGLE_RETURN_IF_ERROR(
      ShareState(rank, static_cast<int>(std::distance(ranking.begin(), ahead)), algorithm, collective_.get(), trainee));
  *step = *ahead / 2;
  has_met_ = true;
  if (options_.pushes.has_value()) {
    pushed_ = std::make_unique<PushedSteps>(*options_.pushes, rank, static_cast<int>(seat_->size), collective_.get(),
                                            trainee->groups(), options_.metrics, abandoned_);
  }
  return absl::OkStatus();
}

absl::Status GroupMember::Agree(Progress* progress, std::string* settings) {
  if (pushed_ != nullptr) {
    pushed_->SetProgress(*progress);
  }
  if (collective_ == nullptr || pushed_ != nullptr) {
    return absl::OkStatus();
  }
  struct Said {
    Progress progress;
    int64_t sets = 0;  // 1: other settings than before follow.
  };
  Said said{*progress, settings_ == *settings ? 0 : 1};
  WAGGLE_RETURN_IF_ERROR(collective_->Broadcast(&said, sizeof(said), /*root=*/0));
  *progress = said.progress;
  if (said.sets != 0) {
    settings_ = *settings;
    WAGGLE_RETURN_IF_ERROR(ShareText(/*root=*/0, collective_.get(), &*settings_));
  }
  *settings = settings_.value_or("");
  return absl::OkStatus();
}

absl::Status GroupMember::Average(const torch::Tensor& tensor) {
  return collective_ == nullptr ? absl::OkStatus() : collective_->Average(tensor);
}

}  // namespace waggle
