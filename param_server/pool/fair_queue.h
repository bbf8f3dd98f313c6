#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace waggle {

// The order in which queued experiments are considered: by priority, the highest first; among equal priorities the
// owner with the least share first, where the share is the number of processes that the owner's running experiments
// need at least, divided by the owner's weight; among equal shares, and among those of one owner, by age. Pure logic;
// not thread-safe.
class FairQueue {
 public:
  // `shares`: those of the running experiments, by owner.
  explicit FairQueue(std::map<std::string, double> shares) : shares_(std::move(shares)) {}

  // `sequence`: the order of submission, different for each. All are added before the first Next.
  void Add(int64_t priority, const std::string& owner, int64_t sequence) {
    waiting_[-priority][owner].insert(sequence);
  }
  // Takes the sequence of the next experiment. Absent: there are no more.
  std::optional<int64_t> Next();
  // An experiment of this owner begins: its share counts from now on.
  void AddShare(const std::string& owner, double share) { shares_[owner] += share; }

 private:
  std::map<std::string, double> shares_;
  std::map<int64_t, std::map<std::string, std::set<int64_t>>> waiting_;  // By falling priority and owner.
};

}  // namespace waggle
