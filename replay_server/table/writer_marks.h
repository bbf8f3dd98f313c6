#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replay_server/items/table_log.h"

namespace waggle {

// The block that items come from: whose it is, its number, and how many of its items for this table are left out
// because they are in already. Writer 0 is none that is kept account of.
struct BlockOrigin {
  uint64_t writer = 0;
  uint64_t sequence = 0;
  uint64_t skipped = 0;
};

// How far each writer's blocks are in a table. Not thread-safe.
class WriterMarks {
 public:
  void Restore(const std::vector<WriterMark>& saved);

  // A block has come, which has no items for the table if it is empty.
  void NoteCome(const BlockOrigin& origin, bool empty);
  // The first `items` of those that have come with it are in, all of them if so.
  void NoteIn(const BlockOrigin& origin, uint64_t items, bool all);
  // See Table::RestartMark.
  void Restart(uint64_t writer, uint64_t sequence);
  // Counts as changed: it is written down once more.
  void Touch(uint64_t writer) { Change(writer); }
  void Forget(uint64_t writer) { marks_.erase(writer); }

  // Appends those that have changed since the last time.
  void TakeChanges(uint64_t table, std::vector<WriterMark>* marks);

 private:
  struct Mark {
    uint64_t sequence = 0;  // All blocks up to this one,
    uint64_t items = 0;     // and so many items of the next one.
    uint64_t last = 0;      // The last block that has come.
    int64_t waiting = 0;    // Of its blocks, how many wait.
    bool changed = false;   // It is among changed_.
  };

  // The writer's mark, which is to be handed over from now on.
  Mark& Change(uint64_t writer);

  absl::flat_hash_map<uint64_t, Mark> marks_;
  std::vector<uint64_t> changed_;  // Writers.
};

}  // namespace waggle
