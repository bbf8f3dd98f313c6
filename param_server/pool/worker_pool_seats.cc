// WorkerPool's part in deciding who gets which seat; the rest of the class is in worker_pool.cc.
// No test of its own: tests/param_server/pool/worker_pool_test.cc sees it.

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "param_server/pool/pool_words.h"
#include "param_server/pool/worker_pool.h"

namespace waggle {
namespace {

bool HasDevice(const WorkerResources& resources, const std::string& device) {
  const std::vector<std::string>& devices = resources.devices;
  if (device == "cuda") {
    return std::any_of(devices.begin(), devices.end(),
                       [](const std::string& each) { return absl::StartsWith(each, "cuda:"); });
  }
  return device == "cpu" || std::find(devices.begin(), devices.end(), device) != devices.end();
}

}  // namespace

bool WorkerPool::Fits(const Member& member, const RunNeeds& run, const SeatGroup& group) {
  const Attendance& who = member.attendance;
  const std::vector<std::string>& environments = who.resources.environments;
  return who.kind == group.kind && !who.leaving && HasDevice(who.resources, group.device) &&
         !(group.serves && who.address.empty()) &&
         (!group.steps_environment ||
          std::find(environments.begin(), environments.end(), run.environment) != environments.end());
}

WorkerPool::Slots WorkerPool::CountSlots() const {
  Slots slots;
  for (const auto& [worker_id, member] : members_) {
    slots.all[worker_id] = member.attendance.capacity;
    slots.free[worker_id] = member.attendance.capacity - member.Load();
  }
  // Actors that others have beyond their least are given up for it.
  for (const auto& [id, run] : runs_) {
    for (const Group& group : run.groups) {
      int64_t surplus = group.needs.role == Role::kActor ? group.Taken() - group.needs.least : 0;
      for (auto seat = group.seats.rbegin(); seat != group.seats.rend() && surplus > 0; ++seat, --surplus) {
        ++slots.free[seat->second.worker_id];
      }
    }
  }
  // Those that have begun come first.
  for (const auto& [id, run] : runs_) {
    RunNeeds lacking = run.needs;
    lacking.groups.clear();
    for (const Group& group : run.groups) {
      if (const int64_t taken = group.Taken(); taken < group.needs.least && !run.closed) {
        lacking.groups.push_back(group.needs);
        lacking.groups.back().least -= taken;
      }
    }
    TakeSlots(lacking, &slots.free);
  }
  return slots;
}

absl::Status WorkerPool::CanBegin(const RunNeeds& needs, Slots slots) const {
  if (const std::string missing = TakeSlots(needs, &slots.all); !missing.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("there are too few workers for it: it lacks ", missing));
  }
  if (const std::string missing = TakeSlots(needs, &slots.free); !missing.empty()) {
    return absl::UnavailableError(absl::StrCat("it waits for ", missing, " who work for others"));
  }
  return absl::OkStatus();
}

std::string WorkerPool::TakeSlots(const RunNeeds& needs, std::map<std::string, int64_t>* slots) const {
  std::vector<std::pair<const std::string, Member> const*> members;
  for (const auto& member : members_) {
    members.push_back(&member);
  }
  // As Candidates: devices are left for those who need them.
  std::stable_sort(members.begin(), members.end(), [](const auto* a, const auto* b) {
    return a->second.attendance.resources.devices.size() < b->second.attendance.resources.devices.size();
  });
  std::vector<std::string> missing;
  for (const SeatGroup& group : needs.groups) {
    int64_t wanted = group.least;
    for (const auto* const member : members) {
      int64_t& left = (*slots)[member->first];
      if (Fits(member->second, needs, group)) {
        const int64_t taken = std::min({wanted, std::max<int64_t>(0, left), group.distinct ? 1 : wanted});
        wanted -= taken;
        left -= taken;
      }
    }
    if (wanted > 0) {
      missing.push_back(Describe(group, needs.environment, wanted));
    }
  }
  return absl::StrJoin(missing, ", ");
}

std::vector<WorkerPool::Run*> WorkerPool::InOrder() {
  std::vector<Run*> runs;
  for (auto& [id, run] : runs_) {
    if (!run.closed) {
      runs.push_back(&run);
    }
  }
  std::sort(runs.begin(), runs.end(), [](const Run* a, const Run* b) {
    return std::make_pair(-a->needs.priority, a->needs.sequence) <
           std::make_pair(-b->needs.priority, b->needs.sequence);
  });
  return runs;
}

bool WorkerPool::MayGive(const Run& run, const Group& group, absl::Time now) const {
  return now >= group.retry_at && !(run.restored && now - run.begun < options_.rejoin_time);
}

std::vector<WorkerPool::Member*> WorkerPool::Candidates(const Run& run, const Group& group, absl::Time now) {
  std::vector<Member*> candidates;
  for (auto& [worker_id, member] : members_) {
    const bool has_one = group.needs.distinct &&
                         std::any_of(group.seats.begin(), group.seats.end(),
                                     [&id = worker_id](const auto& seat) { return seat.second.worker_id == id; });
    if (!has_one && !member.broken_off && now >= member.retry_at && member.Load() < member.attendance.capacity &&
        Fits(member, run.needs, group.needs) &&
        !(group.needs.role == Role::kReplayServer && HasLostTables(member, run))) {
      candidates.push_back(&member);
    }
  }
  // Those who have not failed just now, of these the least busy, and of these those with the fewest devices, which
  // others may need.
  const auto rank = [](const Member* member) {
    return std::make_tuple(member->failures, member->Load(), member->attendance.resources.devices.size());
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&rank](const Member* a, const Member* b) { return rank(a) < rank(b); });
  return candidates;
}

bool WorkerPool::GiveSeat(const Run& run, Group* group, absl::Time now) {
  const std::vector<Member*> candidates = Candidates(run, *group, now);
  std::vector<int64_t> free;
  for (int64_t index = 0; index < group->needs.most; ++index) {
    const auto seat = group->seats.find(index);
    if (seat == group->seats.end()) {
      free.push_back(index);
    } else if (seat->second.worker_id.empty()) {  // Kept for whoever has its storage.
      for (Member* const member : candidates) {
        if (member->attendance.storage_id == seat->second.storage_id) {
          Give(run, group, index, member, now);
          return true;
        }
      }
    }
  }
  const auto is_free = [&free](int64_t index) { return std::find(free.begin(), free.end(), index) != free.end(); };
  for (Member* const member : candidates) {
    if (member->failures == 0 && member->attendance.wanted_index.has_value() &&
        is_free(*member->attendance.wanted_index)) {
      Give(run, group, *member->attendance.wanted_index, member, now);
      return true;
    }
  }
  if (free.empty() || candidates.empty()) {
    return false;
  }
  Give(run, group, free.front(), candidates.front(), now);
  return true;
}

void WorkerPool::ReleaseSeat(const WorkOrder& given) {
  for (auto& [worker_id, member] : members_) {
    const std::map<uint64_t, WorkOrder> recalled = member.recalled;
    for (const auto& [number, order] : recalled) {
      if (order.experiment_id == given.experiment_id && order.role == given.role && order.index == given.index) {
        Release(&member, number, "is followed by another");
      }
    }
  }
}

void WorkerPool::Give(const Run& run, Group* group, int64_t index, Member* member, absl::Time now) {
  WorkOrder order;
  order.number = last_number_++;
  order.experiment_id = run.needs.experiment_id;
  order.role = group->needs.role;
  order.index = index;
  order.output_folder = run.needs.output_folder;
  const bool waits = group->needs.role == Role::kReplayServer;
  ReleaseSeat(order);
  group->seats[index] = {order, member->attendance.worker_id, waits ? member->attendance.storage_id : "", now};
  member->orders[order.number] = order;
  events_.push_back(
      {PoolEvent::Kind::kOrdered, order, member->attendance.worker_id,
       absl::StrCat(NameOf(order), " is to be ", Whereabouts(member->attendance.worker_id, member->attendance.host))});
}

std::map<std::string, int64_t> WorkerPool::ActorShares() const {
  int64_t left = 0;
  for (const auto& [worker_id, member] : members_) {
    left += member.attendance.kind == WorkerKind::kActor && !member.attendance.leaving ? 1 : 0;
  }
  std::map<std::string, int64_t> shares;
  std::map<int64_t, std::vector<const Run*>> by_priority;
  for (const auto& [id, run] : runs_) {
    shares[id] = 0;
    for (const Group& group : run.groups) {
      if (group.needs.role == Role::kActor && !run.closed) {
        shares[id] = group.needs.least;
        left -= group.needs.least;
        by_priority[-run.needs.priority].push_back(&run);
      }
    }
  }
  for (const auto& [priority, runs] : by_priority) {
    while (left > 0) {
      // The one that has the fewest of those that want more.
      const Run* poorest = nullptr;
      for (const Run* const run : runs) {
        for (const Group& group : run->groups) {
          const int64_t share = shares[run->needs.experiment_id];
          if (group.needs.role == Role::kActor && share < group.needs.most &&
              (poorest == nullptr || share < shares[poorest->needs.experiment_id])) {
            poorest = run;
          }
        }
      }
      if (poorest == nullptr) {
        break;
      }
      ++shares[poorest->needs.experiment_id];
      --left;
    }
  }
  return shares;
}

void WorkerPool::Rebalance(const std::map<std::string, int64_t>& shares, absl::Time now) {
  // Those who are leaving their last order are on their way to somebody.
  int64_t coming = std::count_if(members_.begin(), members_.end(), [](const auto& member) {
    return member.second.attendance.kind == WorkerKind::kActor && member.second.orders.empty() &&
           member.second.Load() > 0;
  });
  const std::vector<Run*> runs = InOrder();
  for (Run* const poor : runs) {
    for (Group& group : poor->groups) {
      if (group.needs.role != Role::kActor || !MayGive(*poor, group, now)) {
        continue;
      }
      // That nobody free can stand in for.
      int64_t lacks = shares.at(poor->needs.experiment_id) - group.Taken() -
                      static_cast<int64_t>(Candidates(*poor, group, now).size());
      for (; lacks > 0 && coming > 0; --lacks, --coming) {
      }
      for (; lacks > 0 && Recall(*poor, group.needs, shares, now); --lacks) {
      }
    }
  }
}

bool WorkerPool::Recall(const Run& poor, const SeatGroup& needs, const std::map<std::string, int64_t>& shares,
                        absl::Time now) {
  const std::vector<Run*> runs = InOrder();
  for (auto rich = runs.rbegin(); rich != runs.rend(); ++rich) {
    for (Group& group : (*rich)->groups) {
      if (group.needs.role != Role::kActor || group.Taken() <= shares.at((*rich)->needs.experiment_id)) {
        continue;
      }
      for (auto seat = group.seats.rbegin(); seat != group.seats.rend(); ++seat) {
        Member& member = members_.at(seat->second.worker_id);
        if (Fits(member, poor.needs, needs)) {
          const WorkOrder order = seat->second.order;
          events_.push_back({PoolEvent::Kind::kRecalled, order, member.attendance.worker_id,
                             absl::StrCat(NameOf(order), " is given up for ", poor.needs.experiment_id)});
          Free(&member, order, /*keep=*/false, now);
          member.recalled[order.number] = order;
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace waggle
