#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "common/config/experiment/sections.h"
#include "common/config/schedule.h"
#include "common/hub/ports/hub.h"
#include "common/hub/ports/key_store.h"
#include "common/rl/training/trainee.h"
#include "learner/group/collective.h"
#include "learner/group/pushed_steps.h"

namespace waggle {

struct GroupMemberOptions {
  HubLink* hub = nullptr;  // Must outlive the member.
  // Opens the key store of the group with this epoch.
  std::function<std::unique_ptr<KeyStore>(uint64_t epoch)> new_store;
  // How the first learner steps from the gradients that all push. Absent: all step together, by the mean of their
  // gradients.
  std::optional<GradientServerOptions> pushes;
  Metrics* metrics = nullptr;  // For `pushes`; see PushedSteps. Must outlive the member.
  std::string host;            // An address of this machine that the other learners can reach.
  absl::Duration watch_period = absl::Milliseconds(100);  // Between two checks for a later group at the hub.
  absl::Duration retry_pause = absl::Seconds(1);          // After a group that could not be formed.
};

// This learner's membership in the run's groups, one after the other. One thread.
class GroupMember {
 public:
  explicit GroupMember(const GroupMemberOptions& options) : options_(options) {}
  ~GroupMember() { Leave(); }
  GroupMember(const GroupMember&) = delete;
  GroupMember& operator=(const GroupMember&) = delete;

  // Reports the current group as broken to the hub, leaves it, and waits until the hub has formed a later one with this
  // learner and all its members have come. The member with the most steps gives the others its whole state and its
  // `*step`; among equals, one that was in a group before. CANCELLED after a stop; FAILED_PRECONDITION if a learner has
  // a state of another kind; UNIMPLEMENTED if this build has no Gloo.
  absl::Status Attend(const std::string& algorithm, Trainee* trainee, int64_t* step, const StopToken& stop);

  // True if this learner publishes, saves and reports for all; false before the first group.
  bool is_first() const { return seat_.has_value() && seat_->rank == 0; }
  // The group's epoch; 0 before the first group.
  uint64_t epoch() const { return seat_.has_value() ? seat_->epoch : 0; }

  // Stopped once the hub has formed another group, and with Attend's stop.
  const StopToken& abandoned() const { return abandoned_; }

  // Replaces the progress and the settings, on which a learner step depends, by the first learner's, unless learners
  // push. ABORTED if the group has ended.
  absl::Status Agree(Progress* progress, std::string* settings);
  // Like Collective::Average.
  absl::Status Average(const torch::Tensor& tensor);

  // This learner's end of steps from pushed gradients; null unless learners push and there are several.
  PushedSteps* pushed() const { return pushed_.get(); }

 private:
  // Connects to the other members, and gives or takes the state.
  absl::Status Meet(const std::string& algorithm, Trainee* trainee, int64_t* step);
  // Ends the watch, and leaves the group if there is one.
  void Leave();

  const GroupMemberOptions options_;
  std::optional<GroupSeat> seat_;
  bool has_met_ = false;  // Has been a member of a complete group.
  StopToken abandoned_;
  StopToken left_;  // Ends the watch.
  Thread watch_;
  std::unique_ptr<StopToken::Callback> on_stop_;
  std::unique_ptr<KeyStore> store_;
  std::unique_ptr<Collective> collective_;  // Null for a group of one.
  std::unique_ptr<PushedSteps> pushed_;
  std::optional<std::string> settings_;  // The last agreed ones in this group.
};

}  // namespace waggle
