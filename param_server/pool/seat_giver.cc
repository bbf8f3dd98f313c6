#include "param_server/pool/seat_giver.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "param_server/pool/pool_words.h"

namespace waggle {

namespace {

int64_t ActorsOf(const PoolRun& run) {
  int64_t actors = 0;
  for (const PoolGroup& group : run.groups) {
    actors += group.needs.role == Role::kActor ? group.Taken() : 0;
  }
  return actors;
}

}  // namespace

SeatGiver::SeatGiver(PoolState* pool, const Quotas* quotas, absl::Duration rejoin_time, absl::Time now)
    : pool_(pool), quotas_(quotas), rejoin_time_(rejoin_time), now_(now), shares_(ActorShares()) {
  for (auto& [id, run] : pool_->runs) {
    if (!run.closed) {
      runs_.push_back(&run);
    }
  }
  std::sort(runs_.begin(), runs_.end(), [](const PoolRun* a, const PoolRun* b) {
    return std::make_pair(-a->needs.priority, a->needs.sequence) <
           std::make_pair(-b->needs.priority, b->needs.sequence);
  });
}

void SeatGiver::GiveSeats() {
  for (PoolRun* const run : runs_) {
    for (PoolGroup& group : run->groups) {
      GiveUpTo(group.needs.least, *run, &group);
    }
  }
  KeepQuotas();
  Rebalance();
  // Up to the shares first. Then all others, as some experiments may not be able to use their share.
  for (const bool by_share : {true, false}) {
    for (PoolRun* const run : runs_) {
      for (PoolGroup& group : run->groups) {
        const bool is_actors = group.needs.role == Role::kActor;
        const int64_t most = is_actors && by_share ? shares_.at(run->needs.experiment_id) : group.needs.most;
        GiveUpTo(is_actors ? std::min(most, MostActors(*run)) : most, *run, &group);
      }
    }
  }
}

bool SeatGiver::MayGive(const PoolRun& run, const PoolGroup& group) const {
  return now_ >= group.retry_at && !(run.restored && now_ - run.begun < rejoin_time_);
}

SeatGiver::Candidates::key_type SeatGiver::RankOf(const PoolMember& member) {
  // By fewest failures, then least load, then fewest devices, which other groups may need.
  return {member.failures, member.Load(), member.attendance.resources().devices().size(),
          member.attendance.worker_id()};
}

SeatGiver::Candidates SeatGiver::FindCandidates(const PoolRun& run, const PoolGroup& group) {
  std::set<std::string> seated;
  for (const auto& [index, seat] : group.seats) {
    if (group.needs.distinct) {
      seated.insert(seat.worker_id);
    }
  }
  Candidates candidates;
  for (auto& [worker_id, member] : pool_->members) {
    if (!member.broken_off && now_ >= member.retry_at && seated.count(worker_id) == 0 &&
        member.Load() < member.attendance.capacity() && member.Fits(run.needs, group.needs) &&
        !(group.needs.role == Role::kReplayServer && run.HasLostTables(member.attendance))) {
      candidates.emplace(RankOf(member), &member);
    }
  }
  return candidates;
}

void SeatGiver::GiveUpTo(int64_t most, const PoolRun& run, PoolGroup* group) {
  int64_t lacking = most - group->Taken();
  if (lacking <= 0 || !MayGive(run, *group)) {
    return;
  }
  Candidates candidates = FindCandidates(run, *group);
  const auto give = [&](Candidates::iterator candidate, int64_t index) {
    PoolMember* const member = candidate->second;
    candidates.erase(candidate);
    Give(run, group, index, member);
    --lacking;
    if (!group->needs.distinct && member->Load() < member->attendance.capacity()) {
      candidates.emplace(RankOf(*member), member);
    }
  };
  for (const auto& [index, seat] : group->seats) {
    if (lacking == 0 || !seat.worker_id.empty()) {
      continue;
    }
    // Reserved for the process that has its storage.
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

void SeatGiver::ReleaseSeat(PoolGroup* group, const WorkOrder& given) {
  const auto left = group->recalled.find(given.index);
  if (left == group->recalled.end()) {
    return;
  }
  if (const auto member = pool_->members.find(left->second); member != pool_->members.end()) {
    const std::map<uint64_t, WorkOrder> recalled = member->second.recalled;
    for (const auto& [number, order] : recalled) {
      if (order.experiment_id == given.experiment_id && order.role == given.role && order.index == given.index) {
        pool_->Release(&member->second, number, "is followed by another");
      }
    }
  }
  group->recalled.erase(left);
}

void SeatGiver::Give(const PoolRun& run, PoolGroup* group, int64_t index, PoolMember* member) {
  WorkOrder order;
  order.number = pool_->next_number++;
  order.experiment_id = run.needs.experiment_id;
  order.role = group->needs.role;
  order.index = index;
  order.output_folder = run.needs.output_folder;
  ReleaseSeat(group, order);
  pool_->Seat(group, member, order, " is given to ", now_);
}

int64_t SeatGiver::MostActors(const PoolRun& run) const {
  if (!quotas_->BoundActors(run.needs)) {
    return std::numeric_limits<int64_t>::max();
  }
  QuotaBook others(quotas_);
  for (const auto& [id, other] : pool_->runs) {
    if (&other != &run && !other.closed) {
      others.Add(other.needs, ActorsOf(other));
    }
  }
  int64_t least = 0;
  for (const PoolGroup& group : run.groups) {
    least += group.needs.role == Role::kActor ? group.needs.least : 0;
  }
  return std::max(least, others.MostActors(run.needs).value_or(std::numeric_limits<int64_t>::max()));
}

std::map<std::string, int64_t> SeatGiver::ActorShares() const {
  int64_t left = 0;
  for (const auto& [worker_id, member] : pool_->members) {
    left += member.attendance.kind() == v1::WORKER_KIND_ACTOR && !member.attendance.leaving() ? 1 : 0;
  }
  std::map<std::string, int64_t> shares;
  // The share of each experiment, and the most actors that it can use.
  std::map<int64_t, std::vector<std::pair<int64_t*, int64_t>>> by_priority;
  for (const auto& [id, run] : pool_->runs) {
    int64_t& share = shares[id] = 0;
    for (const PoolGroup& group : run.groups) {
      if (group.needs.role == Role::kActor && !run.closed) {
        share = group.needs.least;
        left -= group.needs.least;
        by_priority[-run.needs.priority].emplace_back(&share, std::min(group.needs.most, MostActors(run)));
      }
    }
  }
  for (const auto& [priority, runs] : by_priority) {
    while (left > 0) {
      int64_t* poorest = nullptr;
      for (const auto& [share, most] : runs) {
        if (*share < most && (poorest == nullptr || *share < *poorest)) {
          poorest = share;
        }
      }
      if (poorest == nullptr) {
        break;
      }
      ++*poorest;
      --left;
    }
  }
  return shares;
}

void SeatGiver::Rebalance() {
  // Actors that leave their last order will be free soon.
  int64_t coming = std::count_if(pool_->members.begin(), pool_->members.end(), [](const auto& member) {
    return member.second.attendance.kind() == v1::WORKER_KIND_ACTOR && member.second.orders.empty() &&
           member.second.Load() > 0;
  });
  for (PoolRun* const poor : runs_) {
    for (PoolGroup& group : poor->groups) {
      if (group.needs.role != Role::kActor || !MayGive(*poor, group)) {
        continue;
      }
      // The actors that it lacks beyond the free ones.
      int64_t lacks = shares_.at(poor->needs.experiment_id) - group.Taken() -
                      static_cast<int64_t>(FindCandidates(*poor, group).size());
      for (; lacks > 0 && coming > 0; --lacks, --coming) {
      }
      for (; lacks > 0 && Recall(*poor, group.needs); --lacks) {
      }
    }
  }
}

void SeatGiver::GiveUp(PoolGroup* group, const PoolSeat& seat, const std::string& why) {
  const WorkOrder order = seat.order;
  PoolMember& member = pool_->members.at(seat.worker_id);
  pool_->events.push_back({PoolEvent::Kind::kRecalled, order, member.attendance.worker_id(),
                           absl::StrCat(NameOf(order), " is given up ", why)});
  pool_->Free(&member, order, /*keep=*/false, now_);
  member.recalled[order.number] = order;
  group->recalled[order.index] = member.attendance.worker_id();
}

void SeatGiver::KeepQuotas() {
  for (PoolRun* const run : runs_) {
    for (PoolGroup& group : run->groups) {
      while (group.needs.role == Role::kActor && group.Taken() > MostActors(*run)) {
        GiveUp(&group, group.seats.rbegin()->second, "because a quota allows no more actors");
      }
    }
  }
}

bool SeatGiver::Recall(const PoolRun& poor, const SeatGroup& needs) {
  for (auto rich = runs_.rbegin(); rich != runs_.rend(); ++rich) {
    for (PoolGroup& group : (*rich)->groups) {
      if (group.needs.role != Role::kActor || group.Taken() <= shares_.at((*rich)->needs.experiment_id)) {
        continue;
      }
      for (auto seat = group.seats.rbegin(); seat != group.seats.rend(); ++seat) {
        const PoolMember& member = pool_->members.at(seat->second.worker_id);
        if (member.Fits(poor.needs, needs)) {
          GiveUp(&group, seat->second, absl::StrCat("for ", poor.needs.experiment_id));
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace waggle
