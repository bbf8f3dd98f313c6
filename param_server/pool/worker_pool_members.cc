// WorkerPool's part in what its members say, and in who is there no more; the rest of the class is in worker_pool.cc.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/host_port.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"
#include "common/hub_client/pool_convert.h"
#include "common/tensor/array_spec.h"
#include "param_server/pool/pool_words.h"
#include "param_server/pool/worker_pool.h"

namespace waggle {
namespace {

constexpr size_t kMaxText = 256;
// Ticks come several times a second: where none came for this long the process was stopped, or its machine.
constexpr absl::Duration kStandstill = absl::Seconds(2);
constexpr absl::Duration kLongTick = absl::Milliseconds(500);

absl::Status ValidateCount(const char* what, size_t count, size_t most) {
  return count <= most
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat(what, ": ", count, " of them; at most ", most, " are allowed"));
}

absl::Status Validate(const v1::AttendRequest& attendance) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(attendance.worker_id()), "worker_id"));
  WAGGLE_RETURN_IF_ERROR(ValidateCount("host: characters", attendance.host().size(), kMaxText));
  if (!attendance.address().empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateReachable(attendance.address()), "address"));
  }
  if (!attendance.storage_id().empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(attendance.storage_id()), "storage_id"));
  }
  if (attendance.capacity() < 1 || attendance.capacity() > kMaxPoolCapacity) {
    return absl::InvalidArgumentError(
        absl::StrCat("capacity: ", attendance.capacity(), " is not in 1 to ", kMaxPoolCapacity));
  }
  WAGGLE_RETURN_IF_ERROR(ValidateCount("held", attendance.held().size(), 2 * kMaxPoolCapacity));
  WAGGLE_RETURN_IF_ERROR(ValidateCount("kept", attendance.kept().size(), kMaxPoolKept));
  for (const v1::HeldOrder& held : attendance.held()) {
    WAGGLE_RETURN_IF_ERROR(FromProto(held.order()).status());
  }
  WAGGLE_RETURN_IF_ERROR(FromProto(attendance.kind()).status());
  return waggle::Validate(attendance.resources());
}

}  // namespace

int64_t WorkerPool::Member::Load() const {
  auto load = static_cast<int64_t>(orders.size() + recalled.size());
  for (const v1::HeldOrder& held : attendance.held()) {
    load += !held.ended() && orders.count(held.order().number()) + recalled.count(held.order().number()) == 0 ? 1 : 0;
  }
  return load;
}

absl::Status WorkerPool::Attend(const v1::AttendRequest& attendance, absl::Time now) {
  WAGGLE_RETURN_IF_ERROR(Validate(attendance));
  auto found = members_.find(attendance.worker_id());
  if (found == members_.end()) {
    if (static_cast<int64_t>(members_.size()) >= options_.max_members) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there are ", members_.size(), " workers, as many as are allowed"));
    }
    // Who has its storage now is not there any more: two cannot have it.
    for (auto other = members_.begin(); !attendance.storage_id().empty() && other != members_.end();) {
      if (other->second.attendance.storage_id() == attendance.storage_id()) {
        Unseat(&other->second, absl::StrCat("has been followed by ", attendance.worker_id()), /*failed=*/false, now);
        other = members_.erase(other);
      } else {
        ++other;
      }
    }
    found = members_.emplace(attendance.worker_id(), Member()).first;
  }
  Member& member = found->second;
  member.attendance = attendance;
  member.heard = now;
  member.waits = true;
  member.broken_off = false;
  for (const v1::HeldOrder& held : attendance.held()) {
    TakeHeld(&member, held, now);
  }
  ReleaseEnded(&member);
  return absl::OkStatus();
}

void WorkerPool::TakeEnded(Member* member, const WorkOrder& order, const std::string& failure, absl::Time now) {
  const bool failed = !failure.empty();
  // As one that leaves before it has said that it ended: see Unseat.
  const bool keep = !failed && member->attendance.leaving() && KeepsSeat(*member, order);
  const std::string text = absl::StrCat(NameOf(order),
                                        failed ? " gave up: "
                                        : keep ? " has ended, and keeps its seat"
                                               : " has ended",
                                        OneLine(failure));
  events_.push_back({failed ? PoolEvent::Kind::kGaveUp
                     : keep ? PoolEvent::Kind::kAway
                            : PoolEvent::Kind::kEnded,
                     order, member->attendance.worker_id(), text});
  Free(member, order, keep, now);
  if (failed) {
    member->retry_at = now + RetryPause(++member->failures);
  }
  // One that ends before its experiment is over has failed too, unless it was told to.
  if (failed || !member->attendance.leaving()) {
    CountFailure(order, text, now);
  }
}

void WorkerPool::TakeHeld(Member* member, const v1::HeldOrder& held, absl::Time now) {
  const std::string& worker_id = member->attendance.worker_id();
  const WorkOrder order = *FromProto(held.order());
  if (const auto known = member->orders.find(order.number); known != member->orders.end()) {
    if (held.ended()) {
      TakeEnded(member, WorkOrder(known->second), std::string(Utf8Prefix(held.failure(), kMaxFailureBytes)), now);
    }
    return;
  }
  // One that this hub gave is not the worker's any more; one of an earlier hub may be.
  const auto run = runs_.find(order.experiment_id);
  Group* const group = FindGroup(order.experiment_id, order.role);
  if (held.ended() || order.number >= first_number_ || group == nullptr || run->second.closed ||
      ToProto(group->needs.kind) != member->attendance.kind() || order.index >= group->needs.most) {
    return;
  }
  const auto seat = group->seats.find(order.index);
  if (seat != group->seats.end() && (!seat->second.worker_id.empty() || seat->second.storage_id.empty() ||
                                     seat->second.storage_id != member->attendance.storage_id())) {
    return;
  }
  WorkOrder adopted = order;
  adopted.output_folder = run->second.needs.output_folder;
  const bool waits = order.role == Role::kReplayServer;
  group->seats[order.index] = {adopted, worker_id, waits ? member->attendance.storage_id() : "", now};
  member->orders[order.number] = adopted;
  events_.push_back({PoolEvent::Kind::kOrdered, adopted, worker_id,
                     absl::StrCat(NameOf(adopted), " goes on with ",
                                  Whereabouts(member->attendance.worker_id(), member->attendance.host())),
                     member->attendance.process_id(), member->attendance.host()});
}

void WorkerPool::ReleaseEnded(Member* member) {
  const std::map<uint64_t, WorkOrder> recalled = member->recalled;
  const auto& held = member->attendance.held();
  for (const auto& [number, order] : recalled) {
    const bool goes_on = std::any_of(held.begin(), held.end(), [number = number](const v1::HeldOrder& each) {
      return each.order().number() == number && !each.ended();
    });
    if (!goes_on) {
      Release(member, number, "has ended");
    }
  }
}

void WorkerPool::Release(Member* member, uint64_t number, const std::string& why) {
  const auto recalled = member->recalled.find(number);
  events_.push_back({PoolEvent::Kind::kReleased, recalled->second, member->attendance.worker_id(),
                     absl::StrCat(NameOf(recalled->second), ", which was given up, ", why)});
  member->recalled.erase(recalled);
}

void WorkerPool::Answered(const std::string& worker_id, absl::Time now) {
  if (const auto member = members_.find(worker_id); member != members_.end()) {
    member->second.waits = false;
    member->second.heard = now;
  }
}

void WorkerPool::BrokeOff(const std::string& worker_id, absl::Time now) {
  if (const auto member = members_.find(worker_id); member != members_.end()) {
    member->second.waits = false;
    member->second.broken_off = true;
    member->second.heard = now;
  }
}

void WorkerPool::Leave(const std::string& worker_id, absl::Time now) {
  if (const auto member = members_.find(worker_id); member != members_.end()) {
    Unseat(&member->second, "has left", /*failed=*/false, now);
    members_.erase(member);
  }
}

void WorkerPool::AllowForStandstill(absl::Time now) {
  const absl::Duration gap = now - ticked_;
  if (gap > kStandstill) {
    // Some counts even then: who is dead is found out also where each pass takes so long.
    for (auto& [worker_id, member] : members_) {
      member.heard = std::min(now, member.heard + (gap - kLongTick));
    }
  }
}

void WorkerPool::RemoveDead(absl::Time now) {
  for (auto member = members_.begin(); member != members_.end();) {
    if (!IsDead(member->second, now)) {
      ++member;
      continue;
    }
    const absl::Duration silent = now - member->second.heard;
    Unseat(&member->second,
           absl::StrCat("was not heard from for ", absl::FormatDuration(absl::Trunc(silent, absl::Milliseconds(100)))),
           /*failed=*/true, now);
    member = members_.erase(member);
  }
}

bool WorkerPool::KeepsSeat(const Member& member, const WorkOrder& order) {
  return order.role == Role::kReplayServer && !member.attendance.storage_id().empty();
}

bool WorkerPool::HasLostTables(const Member& member, const Run& run) {
  const v1::AttendRequest& attendance = member.attendance;
  const auto has_seat = [&attendance](const auto& one) {
    const Seat& seat = one.second;
    return seat.worker_id == attendance.worker_id() ||
           (seat.worker_id.empty() && seat.storage_id == attendance.storage_id());
  };
  const bool has_tables =
      std::find(attendance.kept().begin(), attendance.kept().end(), run.needs.experiment_id) != attendance.kept().end();
  return has_tables && std::any_of(run.groups.begin(), run.groups.end(), [&has_seat](const Group& group) {
           return group.needs.role == Role::kReplayServer && !group.needs.keeps &&
                  std::none_of(group.seats.begin(), group.seats.end(), has_seat);
         });
}

bool WorkerPool::HasLostTables(const std::string& worker_id, const std::string& experiment_id) const {
  const auto member = members_.find(worker_id);
  const auto run = runs_.find(experiment_id);
  return member != members_.end() && run != runs_.end() && HasLostTables(member->second, run->second);
}

bool WorkerPool::IsDead(const Member& member, absl::Time now) const {
  return now - member.heard > (member.broken_off ? options_.broken_off_after : options_.silent_after);
}

void WorkerPool::Unseat(Member* member, const std::string& why, bool failed, absl::Time now) {
  const std::map<uint64_t, WorkOrder> orders = member->orders;
  for (const auto& [number, order] : orders) {
    const bool keep = KeepsSeat(*member, order);
    std::string text = absl::StrCat(NameOf(order), ", ",
                                    Whereabouts(member->attendance.worker_id(), member->attendance.host()), ", ", why);
    events_.push_back(
        {keep ? PoolEvent::Kind::kAway : PoolEvent::Kind::kLost, order, member->attendance.worker_id(), text});
    Free(member, order, keep, now);
    if (failed && !keep) {
      CountFailure(order, text, now);
    }
  }
  while (!member->recalled.empty()) {
    Release(member, member->recalled.begin()->first, why);
  }
}

void WorkerPool::Free(Member* member, const WorkOrder& order, bool keep, absl::Time now) {
  Seat* const seat = FindSeat(order, member->attendance.worker_id());
  if (seat != nullptr && keep) {
    seat->worker_id.clear();
    seat->since = now;
  } else if (seat != nullptr) {
    FindGroup(order.experiment_id, order.role)->seats.erase(order.index);
  }
  member->orders.erase(order.number);
}

void WorkerPool::CountFailure(const WorkOrder& order, const std::string& text, absl::Time now) {
  Group* const group = FindGroup(order.experiment_id, order.role);
  if (group == nullptr || runs_.at(order.experiment_id).closed) {
    return;
  }
  ++group->failures;
  group->retry_at = now + RetryPause(group->failures);
  if (group->failures == std::max(options_.max_failures, 2 * group->needs.most)) {
    events_.push_back({PoolEvent::Kind::kHopeless, order, "",
                       absl::StrCat(group->failures, " workers in a row have failed as ", RoleName(order.role),
                                    ", the last: ", text)});
  }
}

absl::Duration WorkerPool::RetryPause(int64_t failures) const {
  absl::Duration pause = options_.first_retry;
  for (int64_t i = 1; i < failures && pause < options_.longest_retry; ++i) {
    pause *= 2;
  }
  return std::min(pause, options_.longest_retry);
}

}  // namespace waggle
