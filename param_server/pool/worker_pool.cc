#include "param_server/pool/worker_pool.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/hub_client/pool_convert.h"
#include "param_server/pool/pool_words.h"

namespace waggle {

int64_t WorkerPool::Group::Taken() const {
  return std::count_if(seats.begin(), seats.end(), [](const auto& seat) { return !seat.second.worker_id.empty(); });
}

std::vector<WorkOrder> WorkerPool::OrdersOf(const std::string& worker_id) const {
  std::vector<WorkOrder> orders;
  if (const auto member = members_.find(worker_id); member != members_.end()) {
    for (const auto& [number, order] : member->second.orders) {
      orders.push_back(order);
    }
  }
  return orders;
}

bool WorkerPool::HasNews(const std::string& worker_id) const {
  const auto member = members_.find(worker_id);
  if (member == members_.end()) {
    return true;
  }
  const std::map<uint64_t, WorkOrder>& orders = member->second.orders;
  const auto& held = member->second.attendance.held();
  return static_cast<size_t>(held.size()) != orders.size() ||
         std::any_of(held.begin(), held.end(),
                     [&orders](const v1::HeldOrder& each) { return orders.count(each.order().number()) == 0; });
}

void WorkerPool::Begin(const RunNeeds& needs, const std::map<int64_t, std::string>& replay_storage, bool restored) {
  Run run;
  run.needs = needs;
  run.begun = ticked_;
  run.restored = restored;
  for (const SeatGroup& group : needs.groups) {
    run.groups.push_back({group});
    for (const auto& [index, storage_id] : replay_storage) {
      if (group.role == Role::kReplayServer && index < group.most) {
        Seat& seat = run.groups.back().seats[index];
        seat.storage_id = storage_id;
        seat.since = run.begun;
      }
    }
  }
  runs_[needs.experiment_id] = std::move(run);
  // Those who work for it already have said so before it was known here.
  for (auto& [worker_id, member] : members_) {
    for (const v1::HeldOrder& held : member.attendance.held()) {
      if (restored && held.order().experiment_id() == needs.experiment_id) {
        TakeHeld(&member, held, ticked_);
      }
    }
  }
}

void WorkerPool::Close(const std::string& experiment_id) {
  if (const auto run = runs_.find(experiment_id); run != runs_.end()) {
    run->second.closed = true;
  }
}

int64_t WorkerPool::Working(const std::string& experiment_id) const {
  const auto run = runs_.find(experiment_id);
  int64_t working = 0;
  if (run != runs_.end()) {
    for (const Group& group : run->second.groups) {
      working += group.needs.role == Role::kReplayServer ? 0 : group.Taken();
    }
  }
  return working;
}

void WorkerPool::End(const std::string& experiment_id) {
  for (auto& [worker_id, member] : members_) {
    for (auto order = member.orders.begin(); order != member.orders.end();) {
      order = order->second.experiment_id == experiment_id ? member.orders.erase(order) : std::next(order);
    }
    for (auto order = member.recalled.begin(); order != member.recalled.end();) {
      order = order->second.experiment_id == experiment_id ? member.recalled.erase(order) : std::next(order);
    }
  }
  runs_.erase(experiment_id);
}

std::map<int64_t, std::string> WorkerPool::ReplayStorage(const std::string& experiment_id) const {
  std::map<int64_t, std::string> storage;
  if (const auto run = runs_.find(experiment_id); run != runs_.end()) {
    for (const Group& group : run->second.groups) {
      for (const auto& [index, seat] : group.seats) {
        if (group.needs.role == Role::kReplayServer && !seat.storage_id.empty()) {
          storage[index] = seat.storage_id;
        }
      }
    }
  }
  return storage;
}

int64_t WorkerPool::Seated(const std::string& experiment_id) const {
  int64_t seated = 0;
  if (const auto run = runs_.find(experiment_id); run != runs_.end()) {
    for (const Group& group : run->second.groups) {
      seated += group.Taken();
    }
  }
  return seated;
}

int64_t WorkerPool::Wanted(const std::string& experiment_id) const {
  int64_t wanted = 0;
  if (const auto run = runs_.find(experiment_id); run != runs_.end()) {
    for (const Group& group : run->second.groups) {
      wanted += group.needs.most;
    }
  }
  return wanted;
}

std::string WorkerPool::Missing(const std::string& experiment_id) const {
  std::vector<std::string> missing;
  if (const auto run = runs_.find(experiment_id); run != runs_.end()) {
    for (const Group& group : run->second.groups) {
      // An evaluator may come later unless the run has a target return or is in lock-step; it is missed all the same.
      const int64_t wanted = std::max<int64_t>(1, group.needs.least);
      if (const int64_t taken = group.Taken(); taken < wanted) {
        missing.push_back(Describe(group.needs, run->second.needs.environment, wanted - taken));
      }
    }
  }
  return absl::StrJoin(missing, ", ");
}

std::vector<PoolEvent> WorkerPool::Tick(absl::Time now) {
  AllowForStandstill(now);
  ticked_ = now;
  RemoveDead(now);
  Settle(now);
  const std::map<std::string, int64_t> shares = ActorShares();
  const std::vector<Run*> runs = InOrder();
  for (Run* const run : runs) {
    for (Group& group : run->groups) {
      GiveSeats(*run, &group, group.needs.least, now);
    }
  }
  Rebalance(shares, now);
  // Up to the shares; then whoever is left, as those who are to have him may not be able to use him.
  for (const bool by_share : {true, false}) {
    for (Run* const run : runs) {
      for (Group& group : run->groups) {
        const bool is_shared = by_share && group.needs.role == Role::kActor;
        GiveSeats(*run, &group, is_shared ? shares.at(run->needs.experiment_id) : group.needs.most, now);
      }
    }
  }
  return std::exchange(events_, {});
}

void WorkerPool::Settle(absl::Time now) {
  for (auto& [id, run] : runs_) {
    for (Group& group : run.groups) {
      for (auto seat = group.seats.begin(); seat != group.seats.end();) {
        const absl::Duration since = now - seat->second.since;
        if (!seat->second.worker_id.empty() && since >= options_.settled_after) {
          group.failures = 0;
          members_.at(seat->second.worker_id).failures = 0;
        }
        const absl::Duration patience = group.needs.keeps ? options_.storage_patience : options_.memory_patience;
        const bool given_up = seat->second.worker_id.empty() && since >= patience;
        seat = given_up ? group.seats.erase(seat) : std::next(seat);
      }
    }
  }
}

const v1::AttendRequest* WorkerPool::Find(const std::string& worker_id) const {
  const auto member = members_.find(worker_id);
  return member == members_.end() ? nullptr : &member->second.attendance;
}

bool WorkerPool::IsKept(const std::string& experiment_id) const {
  return std::any_of(members_.begin(), members_.end(), [&experiment_id](const auto& member) {
    const auto& kept = member.second.attendance.kept();
    return std::find(kept.begin(), kept.end(), experiment_id) != kept.end();
  });
}

std::vector<v1::PoolMember> WorkerPool::Members(absl::Time now) const {
  std::vector<v1::PoolMember> members;
  for (const auto& [worker_id, member] : members_) {
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

WorkerPool::Group* WorkerPool::FindGroup(const std::string& experiment_id, Role role) {
  if (const auto run = runs_.find(experiment_id); run != runs_.end()) {
    for (Group& group : run->second.groups) {
      if (group.needs.role == role) {
        return &group;
      }
    }
  }
  return nullptr;
}

WorkerPool::Seat* WorkerPool::FindSeat(const WorkOrder& order, const std::string& worker_id) {
  Group* const group = FindGroup(order.experiment_id, order.role);
  if (group == nullptr) {
    return nullptr;
  }
  const auto seat = group->seats.find(order.index);
  return seat != group->seats.end() && seat->second.worker_id == worker_id && seat->second.order.number == order.number
             ? &seat->second
             : nullptr;
}

}  // namespace waggle
