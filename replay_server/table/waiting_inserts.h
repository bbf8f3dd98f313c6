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
#include "replay_server/table/table_client.h"
#include "replay_server/table/writer_marks.h"

namespace waggle {

// Items to insert, of which some may be in.
struct WaitingInsert {
  std::vector<NewItem> items;
  size_t next = 0;  // Index of the first that is not in.
  TableLog::Answer done;
  BlockOrigin origin;
  TableClient* client = nullptr;  // May be null.
  // Set when it must wait. Keeps `client` alive; `since` is by SteadyElapsed().
  std::shared_ptr<TableClient> keeps_client = nullptr;
  absl::Duration since = absl::ZeroDuration();
};

// Inserts that wait for their turn at a table. Each writer's inserts stay in order. Writers take turns of kTurnItems
// items, so that a writer waits for no more than that of each other, however large their blocks are. Inserts without a
// client count as one writer's. Not thread-safe.
class WaitingInserts {
 public:
  static constexpr int64_t kTurnItems = 64;

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  void Push(WaitingInsert insert);

  // The insert whose turn it is, which must exist, and the items that are left of its turn.
  WaitingInsert& front() { return writers_.front().inserts.front(); }
  int64_t turn_left() const { return turn_left_; }
  // Counts inserted items, at most turn_left(). Removes a finished insert. A writer without more items ends its turn.
  void GoneIn(int64_t items);

  // The first inserts, in order of turns.
  std::vector<const WaitingInsert*> First(size_t most) const;
  // Takes all inserts. Each writer's are in order.
  std::vector<WaitingInsert> TakeAll();

 private:
  struct Writer {
    const TableClient* client;
    std::deque<WaitingInsert> inserts;  // At least one.
  };

  std::list<Writer> writers_;  // In order of turns.
  absl::flat_hash_map<const TableClient*, std::list<Writer>::iterator> by_client_;
  size_t size_ = 0;
  int64_t turn_left_ = kTurnItems;
};

}  // namespace waggle
