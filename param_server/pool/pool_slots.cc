#include "param_server/pool/pool_slots.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "param_server/pool/pool_words.h"

namespace waggle {

PoolSlots::PoolSlots(const PoolState& pool) {
  // Experiments give up actors beyond their least for a new experiment.
  std::map<const PoolMember*, int64_t> surplus_of;
  for (const auto& [id, run] : pool.runs) {
    for (const PoolGroup& group : run.groups) {
      int64_t surplus = group.needs.role == Role::kActor ? group.Taken() - group.needs.least : 0;
      for (auto seat = group.seats.rbegin(); seat != group.seats.rend() && surplus > 0; ++seat, --surplus) {
        ++surplus_of[&pool.members.at(seat->second.worker_id)];
      }
    }
  }
  for (const auto& [worker_id, member] : pool.members) {
    members_.push_back(&member);
  }
  std::stable_sort(members_.begin(), members_.end(), [](const PoolMember* a, const PoolMember* b) {
    return a->attendance.resources().devices().size() < b->attendance.resources().devices().size();
  });
  for (const PoolMember* const member : members_) {
    all_.push_back(member->attendance.capacity());
    free_.push_back(member->attendance.capacity() - member->Load() + surplus_of[member]);
  }
  for (const auto& [id, run] : pool.runs) {
    RunNeeds lacking = run.needs;
    lacking.groups.clear();
    for (const PoolGroup& group : run.groups) {
      if (const int64_t taken = group.Taken(); taken < group.needs.least && !run.closed) {
        lacking.groups.push_back(group.needs);
        lacking.groups.back().least -= taken;
      }
    }
    Promise(lacking);
  }
}

absl::Status PoolSlots::CanBegin(const RunNeeds& needs) const {
  std::vector<int64_t> left = all_;
  if (const std::string missing = Take(needs, &left); !missing.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("waits for ", missing, ", which the pool lacks"));
  }
  left = free_;
  if (const std::string missing = Take(needs, &left); !missing.empty()) {
    return absl::UnavailableError(absl::StrCat("waits for ", missing, ", busy with others"));
  }
  return absl::OkStatus();
}

std::string PoolSlots::Take(const RunNeeds& needs, std::vector<int64_t>* left) const {
  std::vector<std::string> missing;
  for (const SeatGroup& group : needs.groups) {
    int64_t wanted = group.least;
    for (size_t i = 0; i < members_.size() && wanted > 0; ++i) {
      int64_t& slots = (*left)[i];
      if (slots > 0 && members_[i]->Fits(needs, group)) {
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

}  // namespace waggle
