#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "replay_server/items/table_log.h"
#include "replay_server/items/table_state.h"
#include "replay_server/table/requester.h"
#include "replay_server/table/writer_marks.h"

namespace waggle {

// Items that are to be inserted, all or the rest of them.
struct WaitingInsert {
  std::vector<NewItem> items;
  size_t next = 0;  // The first one that is not in yet.
  TableLog::Answer done;
  BlockOrigin origin;
  Requester* requester = nullptr;  // May be null.
  // Once it has to wait: the above kept alive, and since when (by SteadyElapsed()).
  std::shared_ptr<Requester> keeps_requester = nullptr;
  absl::Duration since = absl::ZeroDuration();
};

// The inserts that wait for their turn at a table. Each writer's go in their order; the writers take turns of
// kTurnItems items, so that none waits for more than that of each of the others, however large their blocks are.
// Inserts without a requester count as one writer's. Not thread-safe.
class WaitingInserts {
 public:
  static constexpr int64_t kTurnItems = 64;

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  void Push(WaitingInsert insert);

  // The one whose turn it is, and how many items are left of the turn; there has to be one.
  WaitingInsert& front() { return writers_.front().inserts.front(); }
  int64_t turn_left() const { return turn_left_; }
  // So many of its items have gone in, no more than turn_left(). Where these were its last ones it is gone. A turn that
  // is used up is over, as is one in which its writer has nothing left to do.
  void GoneIn(int64_t items);

  // Of the first ones, in the order in which their turns come.
  std::vector<const WaitingInsert*> First(size_t most) const;
  // Takes all of them, each writer's in their order.
  std::vector<WaitingInsert> TakeAll();

 private:
  struct Writer {
    const Requester* requester;
    std::deque<WaitingInsert> inserts;  // At least one.
  };

  std::list<Writer> writers_;  // In the order of their turns.
  absl::flat_hash_map<const Requester*, std::list<Writer>::iterator> by_requester_;
  size_t size_ = 0;
  int64_t turn_left_ = kTurnItems;
};

}  // namespace waggle
