#include "param_server/pool/pool_slots.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "param_server/pool/pool_words.h"

namespace waggle {
namespace {

constexpr char kImpossible[] = "cannot begin in this pool: ";

}  // namespace

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
  if (const std::vector<std::string> problems = Impossible(needs); !problems.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(kImpossible, absl::StrJoin(problems, "; ")));
  }
  std::vector<int64_t> left = free_;
  if (const std::vector<Lack> lacks = Take(needs, &left); !lacks.empty()) {
    return absl::UnavailableError(
        absl::StrCat("waits for ",
                     absl::StrJoin(lacks, ", ",
                                   [&needs](std::string* out, const Lack& lack) {
                                     absl::StrAppend(out, Describe(*lack.group, needs.environment, lack.missing));
                                   }),
                     ", busy with others"));
  }
  return absl::OkStatus();
}

std::vector<std::string> PoolSlots::Impossible(const RunNeeds& needs) const {
  if (members_.empty() && needs.Least() > 0) {
    return {"no process is in the pool"};
  }
  std::vector<int64_t> left = all_;
  std::vector<std::string> problems;
  for (const Lack& lack : Take(needs, &left)) {
    problems.push_back(ExplainLack(needs, lack));
  }
  return problems;
}

std::string PoolSlots::ExplainLack(const RunNeeds& needs, const Lack& lack) const {
  const SeatGroup& group = *lack.group;
  SeatGroup elsewhere = group;
  elsewhere.device = "cpu";
  bool fits = false;
  bool fits_elsewhere = false;
  for (const PoolMember* const member : members_) {
    fits = fits || member->Fits(needs, group);
    fits_elsewhere = fits_elsewhere || member->Fits(needs, elsewhere);
  }
  const std::string& setting = !fits && fits_elsewhere ? group.device_setting : group.setting;
  const int64_t has = group.least - lack.missing;
  return absl::StrCat(setting, setting.empty() ? "" : ": ", "needs ", Describe(group, needs.environment, group.least),
                      ", and the pool has ", has == 0 ? "none" : absl::StrCat(has));
}

std::vector<PoolSlots::Lack> PoolSlots::Take(const RunNeeds& needs, std::vector<int64_t>* left) const {
  std::vector<Lack> lacks;
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
      lacks.push_back({&group, wanted});
    }
  }
  return lacks;
}

}  // namespace waggle
