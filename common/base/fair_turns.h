#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace waggle {

// Decides who is next among those that want a turn: whoever has had least, and of equals who has wanted it longest.
// (Start-time fair queueing: P. Goyal, H. M. Vin and H. Cheng, 1996.) Over any time in which two of them always want a
// turn, what they have had differs by no more than one turn of each. Knows no clock; not thread-safe.
template <class Party>
class FairTurns {
 public:
  bool empty() const { return heap_.empty(); }

  // `party` wants a turn and has had `had` so far, in whatever turns are reckoned by. Returns what it counts as having
  // had: more where it was away, for nothing is saved up meanwhile. Once a turn; after it what it took is to be added.
  int64_t Join(int64_t had, Party party) {
    had = std::max(had, now_);
    heap_.push_back({had, ++joined_, std::move(party)});
    std::push_heap(heap_.begin(), heap_.end(), IsLater);
    return had;
  }

  // Whose turn it is; there has to be somebody.
  Party Next() {
    std::pop_heap(heap_.begin(), heap_.end(), IsLater);
    Entry next = std::move(heap_.back());
    heap_.pop_back();
    now_ = next.had;
    return std::move(next.party);
  }

 private:
  struct Entry {
    int64_t had;
    uint64_t joined;
    Party party;
  };

  static bool IsLater(const Entry& a, const Entry& b) { return a.had != b.had ? a.had > b.had : a.joined > b.joined; }

  std::vector<Entry> heap_;
  int64_t now_ = 0;  // What the last one had had before its turn.
  uint64_t joined_ = 0;
};

}  // namespace waggle
