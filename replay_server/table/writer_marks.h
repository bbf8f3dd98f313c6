#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replay_server/items/table_log.h"

namespace waggle {

// The block that items come from. `skipped` of its items are left out: the table has them. Writer 0 is unknown.
struct BlockOrigin {
  uint64_t writer = 0;
  uint64_t sequence = 0;
  uint64_t skipped = 0;
};

// The progress of each writer's blocks in a table. Not thread-safe.
class WriterMarks {
 public:
  void Restore(const std::vector<WriterMark>& saved);

  // Notes that a block has come. `empty` says that it has no items for the table.
  void NoteCome(const BlockOrigin& origin, bool empty);
  // Notes that the first `items` of its new items are in. `all` says that these are all.
  void NoteIn(const BlockOrigin& origin, uint64_t items, bool all);
  // See Table::RestartMark.
  void Restart(uint64_t writer, uint64_t sequence);
  // Marks it as changed, so that it is saved again.
  void Touch(uint64_t writer) { Change(writer); }
  void Forget(uint64_t writer) { marks_.erase(writer); }

  // Appends the marks that have changed since the last call.
  void TakeChanges(uint64_t table, std::vector<WriterMark>* marks);

 private:
  struct Mark {
    uint64_t sequence = 0;  // All blocks up to it are in,
    uint64_t items = 0;     // and so many items of the next.
    uint64_t last = 0;      // The last block that has come.
    int64_t waiting = 0;    // Number of its blocks that wait.
    bool changed = false;   // In changed_.
  };

  // The writer's mark, which is marked as changed.
  Mark& Change(uint64_t writer);

  absl::flat_hash_map<uint64_t, Mark> marks_;
  std::vector<uint64_t> changed_;  // Writers.
};

}  // namespace waggle
