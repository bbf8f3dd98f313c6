#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "common/base/threads/mutex.h"
#include "param_server/run/hub.h"

namespace waggle::testing {

// Gives the seats of a run like the pool: the named seat, or the lowest free one. Thread-safe.
class SeatGiver {
 public:
  // A worker keeps its order. `hub` is null while there is no hub.
  void Order(Hub* hub, const std::string& worker_id, Role role) {
    ForgetThoseWhoLeft(hub);
    MutexLock lock(&mutex_);
    if (orders_.count(worker_id) == 0) {
      int64_t index = 0;
      while (IsTakenLocked(role, index)) {
        ++index;
      }
      GiveLocked(hub, worker_id, role, index);
    }
  }
  void Order(Hub* hub, const std::string& worker_id, Role role, int64_t index) {
    MutexLock lock(&mutex_);
    GiveLocked(hub, worker_id, role, index);
  }
  void ForgetThoseWhoLeft(Hub* hub) {
    MutexLock lock(&mutex_);
    for (auto order = orders_.begin(); hub != nullptr && order != orders_.end();) {
      order = hub->RoleOf(order->first).has_value() ? std::next(order) : orders_.erase(order);
    }
  }
  // Another hub takes over: workers with an order may join it.
  void OrderAgain(Hub* hub) {
    MutexLock lock(&mutex_);
    const std::map<std::string, std::pair<Role, int64_t>> orders = orders_;
    for (const auto& [worker_id, order] : orders) {
      GiveLocked(hub, worker_id, order.first, order.second);
    }
  }

 private:
  void GiveLocked(Hub* hub, const std::string& worker_id, Role role, int64_t index)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    orders_[worker_id] = {role, index};
    if (hub != nullptr) {
      hub->Order({worker_id, role, /*process_id=*/77, /*host=*/"h", /*address=*/""}, index);
    }
  }
  bool IsTakenLocked(Role role, int64_t index) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::any_of(orders_.begin(), orders_.end(),
                       [&](const auto& order) { return order.second == std::make_pair(role, index); });
  }

  Mutex mutex_;
  std::map<std::string, std::pair<Role, int64_t>> orders_ ABSL_GUARDED_BY(mutex_);  // By worker.
};

}  // namespace waggle::testing
