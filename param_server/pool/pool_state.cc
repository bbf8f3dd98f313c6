#include "param_server/pool/pool_state.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/hub/pool_convert.h"
#include "param_server/pool/pool_words.h"

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

template <class Names>
bool Contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::vector<WorkOrder> PoolMember::Orders() const {
  std::vector<WorkOrder> all;
  for (const auto& [number, order] : orders) {
    all.push_back(order);
  }
  return all;
}

bool PoolMember::HasNews() const {
  const auto& held = attendance.held();
  return static_cast<size_t>(held.size()) != orders.size() ||
         std::any_of(held.begin(), held.end(),
                     [this](const v1::HeldOrder& each) { return orders.count(each.order().number()) == 0; });
}

int64_t PoolMember::Load() const {
  auto load = static_cast<int64_t>(orders.size() + recalled.size());
  for (const v1::HeldOrder& held : attendance.held()) {
    load += !held.ended() && orders.count(held.order().number()) + recalled.count(held.order().number()) == 0 ? 1 : 0;
  }
  return load;
}

bool PoolMember::Fits(const RunNeeds& run, const SeatGroup& group) const {
  return attendance.kind() == ToProto(group.kind) && !attendance.leaving() &&
         HasDevice(attendance.resources(), group.device) && !(group.serves && attendance.address().empty()) &&
         (!group.steps_environment || Contains(attendance.resources().environments(), run.environment));
}

int64_t PoolGroup::Taken() const {
  return std::count_if(seats.begin(), seats.end(), [](const auto& seat) { return !seat.second.worker_id.empty(); });
}

int64_t PoolRun::Seated() const {
  int64_t seated = 0;
  for (const PoolGroup& group : groups) {
    seated += group.Taken();
  }
  return seated;
}

int64_t PoolRun::Wanted() const {
  int64_t wanted = 0;
  for (const PoolGroup& group : groups) {
    wanted += group.needs.most;
  }
  return wanted;
}

int64_t PoolRun::Working() const {
  int64_t working = 0;
  for (const PoolGroup& group : groups) {
    working += group.needs.role == Role::kReplayServer ? 0 : group.Taken();
  }
  return working;
}

std::string PoolRun::Missing() const {
  std::vector<std::string> missing;
  for (const PoolGroup& group : groups) {
    // An absent evaluator is listed even if the run can begin without it.
    const int64_t wanted = std::max<int64_t>(1, group.needs.least);
    if (const int64_t taken = group.Taken(); taken < wanted) {
      missing.push_back(waggle::Describe(group.needs, needs.environment, wanted - taken));
    }
  }
  return absl::StrJoin(missing, ", ");
}

std::map<int64_t, std::string> PoolRun::ReplayStorage() const {
  std::map<int64_t, std::string> storage;
  for (const PoolGroup& group : groups) {
    for (const auto& [index, seat] : group.seats) {
      if (group.needs.role == Role::kReplayServer && !seat.storage_id.empty()) {
        storage[index] = seat.storage_id;
      }
    }
  }
  return storage;
}

bool PoolRun::HasLostTables(const v1::AttendRequest& attendance) const {
  const auto has_seat = [&attendance](const auto& one) {
    const PoolSeat& seat = one.second;
    return seat.worker_id == attendance.worker_id() ||
           (seat.worker_id.empty() && seat.storage_id == attendance.storage_id());
  };
  return Contains(attendance.kept(), needs.experiment_id) &&
         std::any_of(groups.begin(), groups.end(), [&has_seat](const PoolGroup& group) {
           return group.needs.role == Role::kReplayServer && !group.needs.keeps &&
                  std::none_of(group.seats.begin(), group.seats.end(), has_seat);
         });
}

PoolGroup* PoolState::FindGroup(const std::string& experiment_id, Role role) {
  if (const auto run = runs.find(experiment_id); run != runs.end()) {
    for (PoolGroup& group : run->second.groups) {
      if (group.needs.role == role) {
        return &group;
      }
    }
  }
  return nullptr;
}

void PoolState::Seat(PoolGroup* group, PoolMember* member, const WorkOrder& order, const std::string& text,
                     absl::Time now) {
  const v1::AttendRequest& who = member->attendance;
  const bool waits = order.role == Role::kReplayServer;
  group->seats[order.index] = {order, who.worker_id(), waits ? who.storage_id() : "", now};
  member->orders[order.number] = order;
  events.push_back({PoolEvent::Kind::kOrdered, order, who.worker_id(),
                    absl::StrCat(NameOf(order), text, Whereabouts(who.worker_id(), who.host())), who.process_id(),
                    who.host()});
}

void PoolState::Free(PoolMember* member, const WorkOrder& order, bool keep, absl::Time now) {
  if (PoolGroup* const group = FindGroup(order.experiment_id, order.role); group != nullptr) {
    const auto seat = group->seats.find(order.index);
    if (seat != group->seats.end() && seat->second.worker_id == member->attendance.worker_id() &&
        seat->second.order.number == order.number) {
      if (keep) {
        seat->second.worker_id.clear();
        seat->second.since = now;
      } else {
        group->seats.erase(seat);
      }
    }
  }
  member->orders.erase(order.number);
}

void PoolState::Release(PoolMember* member, uint64_t number, const std::string& why) {
  const auto recalled = member->recalled.find(number);
  events.push_back({PoolEvent::Kind::kReleased, recalled->second, member->attendance.worker_id(),
                    absl::StrCat(NameOf(recalled->second), ", which was given up, ", why)});
  member->recalled.erase(recalled);
}

}  // namespace waggle
