#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/hub.h"
#include "common/api/key_store.h"
#include "common/base/stop_token.h"
#include "common/base/thread.h"
#include "common/config/schedule.h"
#include "common/rl/trainee.h"
#include "learner/group/collective.h"

namespace waggle {

struct GroupMemberOptions {
  HubLink* hub = nullptr;  // Outlives the member.
  // The map of the group of this epoch.
  std::function<std::unique_ptr<KeyStore>(uint64_t epoch)> new_store;
  std::string host;  // An address of this machine by which the other learners reach it.
  // Between two looks at whether the hub has formed another group, and after one that could not be formed.
  absl::Duration watch_period = absl::Milliseconds(100);
  absl::Duration retry_pause = absl::Seconds(1);
};

// This learner's part in the run's groups, of which one follows the other. One thread.
class GroupMember {
 public:
  explicit GroupMember(const GroupMemberOptions& options) : options_(options) {}
  ~GroupMember() { Leave(); }
  GroupMember(const GroupMember&) = delete;
  GroupMember& operator=(const GroupMember&) = delete;

  // Leaves the group that there is, and waits until the hub has formed a later one with this learner and all of its
  // members have come. The one that has made the most steps, of several one that was of a group before, gives all
  // others its whole state and its `*step`. CANCELLED after a stop; FAILED_PRECONDITION where a learner has a state of
  // another kind; UNIMPLEMENTED where this build has no Gloo.
  absl::Status Attend(const std::string& algorithm, Trainee* trainee, int64_t* step, const StopToken& stop);

  // Whether this learner publishes, saves and reports for all; false before the first group.
  bool is_first() const { return seat_.has_value() && seat_->rank == 0; }
  // The group's; 0 before the first.
  uint64_t epoch() const { return seat_.has_value() ? seat_->epoch : 0; }

  // Stopped once the hub has formed another group, and with Attend's stop.
  const StopToken& abandoned() const { return abandoned_; }

  // What a learner step goes by, which is what the first learner knows. ABORTED where the group is no more.
  absl::Status Agree(Progress* progress);
  // As Collective::Average.
  absl::Status Average(const torch::Tensor& tensor);

 private:
  // Connects to the others, and takes or gives the state.
  absl::Status Meet(const std::string& algorithm, Trainee* trainee, int64_t* step);
  // Ends the watch, and what there is of the group.
  void Leave();

  const GroupMemberOptions options_;
  std::optional<GroupSeat> seat_;
  bool has_met_ = false;  // Has been of a group that was formed.
  StopToken abandoned_;
  StopToken left_;  // Ends the watch.
  Thread watch_;
  std::unique_ptr<StopToken::Callback> on_stop_;
  std::unique_ptr<KeyStore> store_;
  std::unique_ptr<Collective> collective_;  // Null for a group of one.
};

}  // namespace waggle
