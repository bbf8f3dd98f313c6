// WorkerPool's part in deciding who gets which seat; the rest of the class is in worker_pool.cc.

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/hub_client/pool_convert.h"
#include "param_server/pool/pool_words.h"
#include "param_server/pool/worker_pool.h"

namespace waggle {
namespace {

bool HasDevice(const v1::Resources& resources, const std::string& device) {
  const auto& devices = resources.devices();
  if (device == "cuda") {
    return std::any_of(devices.begin(), devices.end(),
                       [](const std::string& each) { return absl::StartsWith(each, "cuda:"); });
  }
  return device == "cpu" || std::find(devices.begin(), devices.end(), device) != devices.end();
}

}  // namespace

bool WorkerPool::Fits(const Member& member, const RunNeeds& run, const SeatGroup& group) {
  const v1::AttendRequest& who = member.attendance;
  const auto& environments = who.resources().environments();
  return who.kind() == ToProto(group.kind) && !who.leaving() && HasDevice(who.resources(), group.device) &&
         !(group.serves && who.address().empty()) &&
         (!group.steps_environment ||
          std::find(environments.begin(), environments.end(), run.environment) != environments.end());
}

WorkerPool::Slots WorkerPool::CountSlots() const {
  // Actors that others have beyond their least are given up for it.
  std::map<const Member*, int64_t> surplus_of;
  for (const auto& [id, run] : runs_) {
    for (const Group& group : run.groups) {
      int64_t surplus = group.needs.role == Role::kActor ? group.Taken() - group.needs.least : 0;
      for (auto seat = group.seats.rbegin(); seat != group.seats.rend() && surplus > 0; ++seat, --surplus) {
        ++surplus_of[&members_.at(seat->second.worker_id)];
      }
    }
  }
  Slots slots;
  for (const auto& [worker_id, member] : members_) {
    slots.members.push_back(&member);
  }
  std::stable_sort(slots.members.begin(), slots.members.end(), [](const Member* a, const Member* b) {
    return a->attendance.resources().devices().size() < b->attendance.resources().devices().size();
  });
  for (const Member* const member : slots.members) {
    const auto surplus = surplus_of.find(member);
    slots.all.push_back(member->attendance.capacity());
    slots.free.push_back(member->attendance.capacity() - member->Load() +
                         (surplus == surplus_of.end() ? 0 : surplus->second));
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
    Promise(lacking, &slots);
  }
  return slots;
}

void WorkerPool::Promise(const RunNeeds& needs, Slots* slots) const {
  TakeSlots(needs, slots->members, &slots->free);
}

absl::Status WorkerPool::CanBegin(const RunNeeds& needs) const {
  return CanBegin(needs, CountSlots());
}

absl::Status WorkerPool::CanBegin(const RunNeeds& needs, const Slots& slots) const {
  std::vector<int64_t> left = slots.all;
  if (const std::string missing = TakeSlots(needs, slots.members, &left); !missing.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("waits for ", missing, ", which the pool lacks"));
  }
  left = slots.free;
  if (const std::string missing = TakeSlots(needs, slots.members, &left); !missing.empty()) {
    return absl::UnavailableError(absl::StrCat("waits for ", missing, ", busy with others"));
  }
  return absl::OkStatus();
}

std::string WorkerPool::TakeSlots(const RunNeeds& needs, const std::vector<const Member*>& members,
                                  std::vector<int64_t>* left) {
  std::vector<std::string> missing;
  for (const SeatGroup& group : needs.groups) {
    int64_t wanted = group.least;
    for (size_t i = 0; i < members.size() && wanted > 0; ++i) {
      int64_t& slots = (*left)[i];
      if (slots > 0 && Fits(*members[i], needs, group)) {
        const int64_t taken = std::min({wanted, slots, group.distinct ? 1 : wanted});
        wanted -= taken;
        slots -= taken;
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

WorkerPool::Candidates::key_type WorkerPool::RankOf(const Member& member) {
  // Those who have not failed just now, of these the least busy, and of these those with the fewest devices, which
  // others may need.
  return {member.failures, member.Load(), member.attendance.resources().devices().size(),
          member.attendance.worker_id()};
}

WorkerPool::Candidates WorkerPool::FindCandidates(const Run& run, const Group& group, absl::Time now) {
  std::set<std::string> seated;
  for (const auto& [index, seat] : group.seats) {
    if (group.needs.distinct) {
      seated.insert(seat.worker_id);
    }
  }
  Candidates candidates;
  for (auto& [worker_id, member] : members_) {
    if (!member.broken_off && now >= member.retry_at && seated.count(worker_id) == 0 &&
        member.Load() < member.attendance.capacity() && Fits(member, run.needs, group.needs) &&
        !(group.needs.role == Role::kReplayServer && HasLostTables(member, run))) {
      candidates.emplace(RankOf(member), &member);
    }
  }
  return candidates;
}

void WorkerPool::GiveSeats(const Run& run, Group* group, int64_t most, absl::Time now) {
  int64_t lacking = most - group->Taken();
  if (lacking <= 0 || !MayGive(run, *group, now)) {
    return;
  }
  Candidates candidates = FindCandidates(run, *group, now);
  const auto give = [&](Candidates::iterator candidate, int64_t index) {
    Member* const member = candidate->second;
    candidates.erase(candidate);
    Give(run, group, index, member, now);
    --lacking;
    if (!group->needs.distinct && member->Load() < member->attendance.capacity()) {
      candidates.emplace(RankOf(*member), member);
    }
  };
  for (const auto& [index, seat] : group->seats) {
    if (lacking == 0 || !seat.worker_id.empty()) {
      continue;
    }
    // Kept for the process that has its storage.
    const auto owner = std::find_if(candidates.begin(), candidates.end(), [&seat = seat](const auto& one) {
      return one.second->attendance.storage_id() == seat.storage_id;
    });
    if (owner != candidates.end()) {
      give(owner, index);
    }
  }
  for (auto next = candidates.begin(); next != candidates.end() && lacking > 0;) {
    const auto candidate = next++;
    const v1::AttendRequest& who = candidate->second->attendance;
    if (candidate->second->failures == 0 && who.has_wanted_index() && who.wanted_index() < group->needs.most &&
        group->seats.count(who.wanted_index()) == 0) {
      give(candidate, who.wanted_index());
    }
  }
  for (int64_t index = 0; index < group->needs.most && lacking > 0 && !candidates.empty(); ++index) {
    if (group->seats.count(index) == 0) {
      give(candidates.begin(), index);
    }
  }
}

void WorkerPool::ReleaseSeat(Group* group, const WorkOrder& given) {
  const auto left = group->recalled.find(given.index);
  if (left == group->recalled.end()) {
    return;
  }
  if (const auto member = members_.find(left->second); member != members_.end()) {
    const std::map<uint64_t, WorkOrder> recalled = member->second.recalled;
    for (const auto& [number, order] : recalled) {
      if (order.experiment_id == given.experiment_id && order.role == given.role && order.index == given.index) {
        Release(&member->second, number, "is followed by another");
      }
    }
  }
  group->recalled.erase(left);
}

void WorkerPool::Give(const Run& run, Group* group, int64_t index, Member* member, absl::Time now) {
  WorkOrder order;
  order.number = last_number_++;
  order.experiment_id = run.needs.experiment_id;
  order.role = group->needs.role;
  order.index = index;
  order.output_folder = run.needs.output_folder;
  const bool waits = group->needs.role == Role::kReplayServer;
  ReleaseSeat(group, order);
  group->seats[index] = {order, member->attendance.worker_id(), waits ? member->attendance.storage_id() : "", now};
  member->orders[order.number] = order;
  events_.push_back({PoolEvent::Kind::kOrdered, order, member->attendance.worker_id(),
                     absl::StrCat(NameOf(order), " is to be ",
                                  Whereabouts(member->attendance.worker_id(), member->attendance.host())),
                     member->attendance.process_id(), member->attendance.host()});
}

std::map<std::string, int64_t> WorkerPool::ActorShares() const {
  int64_t left = 0;
  for (const auto& [worker_id, member] : members_) {
    left += member.attendance.kind() == v1::WORKER_KIND_ACTOR && !member.attendance.leaving() ? 1 : 0;
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
    return member.second.attendance.kind() == v1::WORKER_KIND_ACTOR && member.second.orders.empty() &&
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
                      static_cast<int64_t>(FindCandidates(*poor, group, now).size());
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
          events_.push_back({PoolEvent::Kind::kRecalled, order, member.attendance.worker_id(),
                             absl::StrCat(NameOf(order), " is given up for ", poor.needs.experiment_id)});
          Free(&member, order, /*keep=*/false, now);
          member.recalled[order.number] = order;
          group.recalled[order.index] = member.attendance.worker_id();
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace waggle
