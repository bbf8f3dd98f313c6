#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/hub/pool_convert.h"
#include "param_server/pool/worker_pool.h"
#include "tests/support/catch.h"

namespace waggle::testing {

inline constexpr uint64_t kFirstNumber = 1'000;

inline SeatGroup Actors(int64_t least, int64_t most) {
  SeatGroup group{Role::kActor, WorkerKind::kActor, least, most};
  group.steps_environment = true;
  return group;
}

inline RunNeeds Needs(const std::string& id, std::vector<SeatGroup> groups, int64_t sequence = 1,
                      int64_t priority = 0) {
  RunNeeds needs;
  needs.experiment_id = id;
  needs.sequence = sequence;
  needs.priority = priority;
  needs.environment = "CartPole-v1";
  needs.output_folder = absl::StrCat("/out/", id);
  needs.groups = std::move(groups);
  return needs;
}

using WorkOf = std::map<std::string, std::vector<std::string>>;

// Processes that follow their orders.
class PoolFixture {
 public:
  v1::AttendRequest& Worker(const std::string& worker_id, WorkerKind kind) {
    v1::AttendRequest& worker = workers[worker_id];
    worker.set_worker_id(worker_id);
    worker.set_kind(ToProto(kind));
    worker.set_host("host-a");
    worker.set_address("host-a:7001");
    worker.mutable_resources()->clear_environments();
    worker.mutable_resources()->add_environments("CartPole-v1");
    worker.set_capacity(kind == WorkerKind::kReplayServer || kind == WorkerKind::kEvaluator ? 8 : 1);
    return worker;
  }
  void Hold(const std::string& worker_id, const WorkOrder& order) {
    *workers.at(worker_id).add_held()->mutable_order() = ToProto(order);
  }
  // All processes attend, then the pool ticks.
  std::vector<PoolEvent> Round() {
    now += absl::Seconds(1);
    for (auto& [worker_id, worker] : workers) {
      REQUIRE_OK(pool.Attend(worker, now));
    }
    std::vector<PoolEvent> events = pool.Tick(now);
    for (auto& [worker_id, worker] : workers) {
      worker.clear_held();
      for (const WorkOrder& order : OrdersOf(worker_id)) {
        Hold(worker_id, order);
      }
      pool.Answered(worker_id, now);
    }
    return events;
  }
  std::vector<WorkOrder> OrdersOf(const std::string& worker_id) const {
    const PoolMember* const member = pool.FindMember(worker_id);
    return member == nullptr ? std::vector<WorkOrder>() : member->Orders();
  }
  // Orders such as "actor 1 of a", by worker.
  std::map<std::string, std::vector<std::string>> Work() const {
    std::map<std::string, std::vector<std::string>> work;
    for (const auto& [worker_id, worker] : workers) {
      for (const WorkOrder& order : OrdersOf(worker_id)) {
        work[worker_id].push_back(absl::StrCat(RoleName(order.role), " ", order.index, " of ", order.experiment_id));
      }
    }
    return work;
  }
  int64_t Count(const std::string& text) const {
    int64_t count = 0;
    for (const auto& [worker_id, orders] : Work()) {
      count += std::count_if(orders.begin(), orders.end(),
                             [&text](const std::string& order) { return order.find(text) != std::string::npos; });
    }
    return count;
  }

  absl::Time now = absl::UnixEpoch();
  std::optional<WorkerPool> pool_{std::in_place, WorkerPoolOptions(), kFirstNumber, now};
  WorkerPool& pool = *pool_;
  std::map<std::string, v1::AttendRequest> workers;
};

}  // namespace waggle::testing
