#include "param_server/pool/fair_queue.h"

#include <tuple>

namespace waggle {

std::optional<int64_t> FairQueue::Next() {
  if (waiting_.empty()) {
    return std::nullopt;
  }
  std::map<std::string, std::set<int64_t>>& owners = waiting_.begin()->second;
  auto next = owners.end();
  std::tuple<double, int64_t> least;
  for (auto owner = owners.begin(); owner != owners.end(); ++owner) {
    const std::tuple<double, int64_t> rank = {shares_[owner->first], *owner->second.begin()};
    if (next == owners.end() || rank < least) {
      next = owner;
      least = rank;
    }
  }
  const int64_t sequence = *next->second.begin();
  next->second.erase(next->second.begin());
  if (next->second.empty()) {
    owners.erase(next);
  }
  if (owners.empty()) {
    waiting_.erase(waiting_.begin());
  }
  return sequence;
}

}  // namespace waggle
