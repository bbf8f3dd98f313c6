#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace waggle {

// Chooses the next party for a turn: the one with the least `served`; among equals, the one that has waited longest.
// (Start-time fair queueing: P. Goyal, H. M. Vin and H. Cheng, 1996.) The shares of two parties that always want turns
// differ by at most one turn of each. Uses no clock; not thread-safe.
template <class Party>
class FairTurns {
 public:
  bool empty() const { return heap_.empty(); }

  // Lets `party` wait for a turn; `served` is the sum of its turns so far. Returns its new `served`, which is higher if
  // the party was away: absence saves nothing up. The caller must add the cost of the turn.
  int64_t Join(int64_t served, Party party) {
    served = std::max(served, now_);
    heap_.push_back({served, ++joined_, std::move(party)});
    std::push_heap(heap_.begin(), heap_.end(), IsLater);
    return served;
  }

  // The next party. There must be one.
  Party Next() {
    std::pop_heap(heap_.begin(), heap_.end(), IsLater);
    Entry next = std::move(heap_.back());
    heap_.pop_back();
    now_ = next.served;
    return std::move(next.party);
  }

 private:
  struct Entry {
    int64_t served;
    uint64_t joined;
    Party party;
  };

  static bool IsLater(const Entry& a, const Entry& b) {
    return a.served != b.served ? a.served > b.served : a.joined > b.joined;
  }

  std::vector<Entry> heap_;
  int64_t now_ = 0;  // `served` of the last party, before its turn.
  uint64_t joined_ = 0;
};

}  // namespace waggle
