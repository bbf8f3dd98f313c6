#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "replay_server/items/table_log.h"

namespace waggle {

class Table;
class WriterSession;

// Progress of writers whose rows are not kept any more. If such a writer comes back, it continues with the next block,
// and no block is inserted twice. Its windows over forgotten rows are left out and counted. In memory only. The oldest
// entries make room for new ones. Not thread-safe.
class ForgottenWriters {
 public:
  struct Writer {
    uint64_t incarnation = 0;
    uint64_t sequence = 0;  // All blocks up to it are applied.
    WriterCounts counts;
  };

  explicit ForgottenWriters(size_t most) : most_(most) {}

  // `session` must not wait in a table. Other writers with the same id are kept.
  void Add(const std::string& id, const WriterSession& session);
  // The progress of this writer if it wrote to exactly these tables.
  std::optional<Writer> Find(const std::string& id, uint64_t incarnation,
                             const std::vector<std::shared_ptr<Table>>& tables) const;
  // Called when the writer is back.
  void Drop(const std::string& id, uint64_t incarnation) { writers_.erase({id, incarnation}); }

  size_t size() const { return writers_.size(); }

 private:
  struct Entry {
    Writer writer;
    std::vector<std::weak_ptr<Table>> tables;
    uint64_t number = 0;  // Counts additions.
  };

  using Key = std::pair<std::string, uint64_t>;  // Id and incarnation.

  const size_t most_;
  uint64_t added_ = 0;
  absl::flat_hash_map<Key, Entry> writers_;
  // Oldest first. Entries may have been dropped or added again since.
  std::deque<std::pair<uint64_t, Key>> order_;
};

}  // namespace waggle
