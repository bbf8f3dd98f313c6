#include "param_server/pool/worker_pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/host_port.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/array_spec.h"
#include "common/base/utf8.h"
#include "common/hub/pool_convert.h"
#include "param_server/pool/pool_words.h"
#include "param_server/pool/seat_giver.h"

namespace waggle {
namespace {

constexpr size_t kMaxText = 256;
// Ticks come several times a second: after a longer gap the process or its machine had stopped.
constexpr absl::Duration kStandstill = absl::Seconds(2);
constexpr absl::Duration kLongTick = absl::Milliseconds(500);

// True if the seat of an order is reserved for this process after it has left.
bool KeepsSeat(const PoolMember& member, const WorkOrder& order) {
  return order.role == Role::kReplayServer && !member.attendance.storage_id().empty();
}

absl::Status ValidateCount(const char* what, size_t count, size_t most) {
  return count <= most ? absl::OkStatus()
                       : absl::InvalidArgumentError(
                             absl::StrCat(what, ": got length ", count, "; wanted length ", most, " or less"));
}

absl::Status Validate(const v1::AttendRequest& attendance) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(attendance.worker_id()), "worker_id"));
  WAGGLE_RETURN_IF_ERROR(ValidateCount("host", attendance.host().size(), kMaxText));
  if (!attendance.address().empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateReachable(attendance.address()), "address"));
  }
  if (!attendance.storage_id().empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(attendance.storage_id()), "storage_id"));
  }
  if (attendance.capacity() < 1 || attendance.capacity() > kMaxPoolCapacity) {
    return absl::InvalidArgumentError(
        absl::StrCat("capacity: got ", attendance.capacity(), "; wanted 1 to ", kMaxPoolCapacity));
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

absl::Status WorkerPool::Attend(const v1::AttendRequest& attendance, absl::Time now) {
  WAGGLE_RETURN_IF_ERROR(Validate(attendance));
  auto found = state_.members.find(attendance.worker_id());
  if (found == state_.members.end()) {
    if (static_cast<int64_t>(state_.members.size()) >= options_.max_members) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the pool has ", state_.members.size(), " workers, which is the most"));
    }
    // An earlier process with the same storage must be dead: two cannot have it.
    for (auto other = state_.members.begin(); !attendance.storage_id().empty() && other != state_.members.end();) {
      if (other->second.attendance.storage_id() == attendance.storage_id()) {
        Unseat(&other->second, absl::StrCat("has been followed by ", attendance.worker_id()), /*failed=*/false, now);
        other = state_.members.erase(other);
      } else {
        ++other;
      }
    }
    found = state_.members.emplace(attendance.worker_id(), PoolMember()).first;
  }
  PoolMember& member = found->second;
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

void WorkerPool::TakeEnded(PoolMember* member, const WorkOrder& order, const std::string& failure, absl::Time now) {
  const bool failed = !failure.empty();
  // As for a process that leaves before it reports the end: see Unseat.
  const bool keep = !failed && member->attendance.leaving() && KeepsSeat(*member, order);
  const std::string text = absl::StrCat(NameOf(order),
                                        failed ? " gave up: "
                                        : keep ? " has ended, and keeps its seat"
                                               : " has ended",
                                        OneLine(failure));
  state_.events.push_back({failed ? PoolEvent::Kind::kGaveUp
                           : keep ? PoolEvent::Kind::kAway
                                  : PoolEvent::Kind::kEnded,
                           order, member->attendance.worker_id(), text});
  state_.Free(member, order, keep, now);
  if (failed) {
    member->retry_at = now + RetryPause(++member->failures);
  }
  // A worker that ends before its experiment is over has failed too, unless its process is leaving.
  if (failed || !member->attendance.leaving()) {
    CountFailure(order, text, now);
  }
}

void WorkerPool::TakeHeld(PoolMember* member, const v1::HeldOrder& held, absl::Time now) {
  const WorkOrder order = *FromProto(held.order());
  if (const auto known = member->orders.find(order.number); known != member->orders.end()) {
    if (held.ended()) {
      TakeEnded(member, WorkOrder(known->second), std::string(Utf8Prefix(held.failure(), kMaxFailureBytes)), now);
    }
    return;
  }
  // An order of this hub that is not in `orders` was taken from the member. An order of an earlier hub may go on.
  const auto run = state_.runs.find(order.experiment_id);
  PoolGroup* const group = state_.FindGroup(order.experiment_id, order.role);
  if (held.ended() || order.number >= first_number_ || group == nullptr || run->second.closed ||
      !run->second.restored || ToProto(group->needs.kind) != member->attendance.kind() ||
      order.index >= group->needs.most) {
    return;
  }
  const auto seat = group->seats.find(order.index);
  if (seat != group->seats.end() && (!seat->second.worker_id.empty() || seat->second.storage_id.empty() ||
                                     seat->second.storage_id != member->attendance.storage_id())) {
    return;
  }
  WorkOrder adopted = order;
  adopted.output_folder = run->second.needs.output_folder;
  state_.Seat(group, member, adopted, " goes on with ", now);
}

void WorkerPool::ReleaseEnded(PoolMember* member) {
  const std::map<uint64_t, WorkOrder> recalled = member->recalled;
  const auto& held = member->attendance.held();
  for (const auto& [number, order] : recalled) {
    const bool goes_on = std::any_of(held.begin(), held.end(), [number = number](const v1::HeldOrder& each) {
      return each.order().number() == number && !each.ended();
    });
    if (!goes_on) {
      state_.Release(member, number, "has ended");
    }
  }
}

void WorkerPool::Answered(const std::string& worker_id, absl::Time now) {
  if (const auto member = state_.members.find(worker_id); member != state_.members.end()) {
    member->second.waits = false;
    member->second.heard = now;
  }
}

void WorkerPool::BrokeOff(const std::string& worker_id, absl::Time now) {
  if (const auto member = state_.members.find(worker_id); member != state_.members.end()) {
    member->second.waits = false;
    member->second.broken_off = true;
    member->second.heard = now;
  }
}

void WorkerPool::Leave(const std::string& worker_id, absl::Time now) {
  if (const auto member = state_.members.find(worker_id); member != state_.members.end()) {
    Unseat(&member->second, "has left", /*failed=*/false, now);
    state_.members.erase(member);
  }
}

const PoolMember* WorkerPool::FindMember(const std::string& worker_id) const {
  const auto member = state_.members.find(worker_id);
  return member == state_.members.end() ? nullptr : &member->second;
}

const PoolRun* WorkerPool::FindRun(const std::string& experiment_id) const {
  const auto run = state_.runs.find(experiment_id);
  return run == state_.runs.end() ? nullptr : &run->second;
}

bool WorkerPool::IsKept(const std::string& experiment_id) const {
  return std::any_of(state_.members.begin(), state_.members.end(), [&experiment_id](const auto& member) {
    const auto& kept = member.second.attendance.kept();
    return std::find(kept.begin(), kept.end(), experiment_id) != kept.end();
  });
}

std::vector<v1::PoolMember> WorkerPool::Members(absl::Time now) const {
  std::vector<v1::PoolMember> members;
  for (const auto& [worker_id, member] : state_.members) {
    v1::PoolMember& out = members.emplace_back();
    out.set_worker_id(worker_id);
    out.set_kind(member.attendance.kind());
    out.set_address(member.attendance.address());
    out.set_process_id(member.attendance.process_id());
    out.set_host(member.attendance.host());
    *out.mutable_resources() = member.attendance.resources();
    out.set_capacity(member.attendance.capacity());
    out.set_leaving(member.attendance.leaving());
    out.set_silent_ms(member.waits ? 0 : absl::ToInt64Milliseconds(now - member.heard));
    for (const auto& [number, order] : member.orders) {
      *out.add_orders() = ToProto(order);
    }
  }
  std::stable_sort(members.begin(), members.end(),
                   [](const v1::PoolMember& a, const v1::PoolMember& b) { return a.kind() < b.kind(); });
  return members;
}

void WorkerPool::SetPriority(const std::string& experiment_id, int64_t priority) {
  if (const auto run = state_.runs.find(experiment_id); run != state_.runs.end()) {
    run->second.needs.priority = priority;
  }
}

QuotaBook WorkerPool::CountUse() const {
  QuotaBook book(&options_.quotas);
  for (const auto& [id, run] : state_.runs) {
    if (!run.closed) {
      book.Add(run.needs);
    }
  }
  return book;
}

void WorkerPool::Begin(const RunNeeds& needs, const std::map<int64_t, std::string>& replay_storage, bool restored) {
  PoolRun run;
  run.needs = needs;
  run.begun = ticked_;
  run.restored = restored;
  for (const SeatGroup& group : needs.groups) {
    run.groups.push_back({group});
    for (const auto& [index, storage_id] : replay_storage) {
      if (group.role == Role::kReplayServer && index < group.most) {
        PoolSeat& seat = run.groups.back().seats[index];
        seat.storage_id = storage_id;
        seat.since = run.begun;
      }
    }
  }
  state_.runs[needs.experiment_id] = std::move(run);
  // Workers of an earlier hub may have attended before the experiment began here.
  for (auto& [worker_id, member] : state_.members) {
    for (const v1::HeldOrder& held : member.attendance.held()) {
      if (restored && held.order().experiment_id() == needs.experiment_id) {
        TakeHeld(&member, held, ticked_);
      }
    }
  }
}

void WorkerPool::Close(const std::string& experiment_id) {
  if (const auto run = state_.runs.find(experiment_id); run != state_.runs.end()) {
    run->second.closed = true;
  }
}

void WorkerPool::End(const std::string& experiment_id) {
  for (auto& [worker_id, member] : state_.members) {
    for (auto order = member.orders.begin(); order != member.orders.end();) {
      order = order->second.experiment_id == experiment_id ? member.orders.erase(order) : std::next(order);
    }
    for (auto order = member.recalled.begin(); order != member.recalled.end();) {
      order = order->second.experiment_id == experiment_id ? member.recalled.erase(order) : std::next(order);
    }
  }
  state_.runs.erase(experiment_id);
}

std::vector<PoolEvent> WorkerPool::Tick(absl::Time now) {
  AllowForStandstill(now);
  ticked_ = now;
  RemoveDead(now);
  Settle(now);
  SeatGiver(&state_, &options_.quotas, options_.rejoin_time, now).GiveSeats();
  return std::exchange(state_.events, {});
}

void WorkerPool::Settle(absl::Time now) {
  for (auto& [id, run] : state_.runs) {
    for (PoolGroup& group : run.groups) {
      for (auto seat = group.seats.begin(); seat != group.seats.end();) {
        const absl::Duration since = now - seat->second.since;
        if (!seat->second.worker_id.empty() && since >= options_.settled_after) {
          group.failures = 0;
          state_.members.at(seat->second.worker_id).failures = 0;
        }
        const absl::Duration patience = group.needs.keeps ? options_.storage_patience : options_.memory_patience;
        const bool given_up = seat->second.worker_id.empty() && since >= patience;
        seat = given_up ? group.seats.erase(seat) : std::next(seat);
      }
    }
  }
}

void WorkerPool::AllowForStandstill(absl::Time now) {
  const absl::Duration gap = now - ticked_;
  if (gap > kStandstill) {
    // A part of the gap counts, so that dead members are found even if each pass takes so long.
    for (auto& [worker_id, member] : state_.members) {
      member.heard = std::min(now, member.heard + (gap - kLongTick));
    }
  }
}

void WorkerPool::RemoveDead(absl::Time now) {
  for (auto member = state_.members.begin(); member != state_.members.end();) {
    if (!IsDead(member->second, now)) {
      ++member;
      continue;
    }
    const absl::Duration silent = now - member->second.heard;
    Unseat(&member->second,
           absl::StrCat("was not heard from for ", absl::FormatDuration(absl::Trunc(silent, absl::Milliseconds(100)))),
           /*failed=*/true, now);
    member = state_.members.erase(member);
  }
}

bool WorkerPool::IsDead(const PoolMember& member, absl::Time now) const {
  return now - member.heard > (member.broken_off ? options_.broken_off_after : options_.silent_after);
}

void WorkerPool::Unseat(PoolMember* member, const std::string& why, bool failed, absl::Time now) {
  const std::map<uint64_t, WorkOrder> orders = member->orders;
  for (const auto& [number, order] : orders) {
    const bool keep = KeepsSeat(*member, order);
    std::string text = absl::StrCat(NameOf(order), ", ",
                                    Whereabouts(member->attendance.worker_id(), member->attendance.host()), ", ", why);
    state_.events.push_back(
        {keep ? PoolEvent::Kind::kAway : PoolEvent::Kind::kLost, order, member->attendance.worker_id(), text});
    state_.Free(member, order, keep, now);
    if (failed && !keep) {
      CountFailure(order, text, now);
    }
  }
  while (!member->recalled.empty()) {
    state_.Release(member, member->recalled.begin()->first, why);
  }
}

void WorkerPool::CountFailure(const WorkOrder& order, const std::string& text, absl::Time now) {
  PoolGroup* const group = state_.FindGroup(order.experiment_id, order.role);
  if (group == nullptr || state_.runs.at(order.experiment_id).closed) {
    return;
  }
  ++group->failures;
  group->retry_at = now + RetryPause(group->failures);
  if (group->failures == std::max(options_.max_failures, 2 * group->needs.most)) {
    state_.events.push_back({PoolEvent::Kind::kHopeless, order, "",
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
