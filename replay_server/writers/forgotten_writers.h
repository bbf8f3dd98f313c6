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

// How far writers were whose rows are not kept any more: one that comes back goes on with the block behind, and inserts
// none twice. Windows that reach back to its earlier rows are left out, and counted. In memory only; the ones that were
// forgotten longest ago make room for others. Not thread-safe.
class ForgottenWriters {
 public:
  struct Writer {
    uint64_t incarnation = 0;
    uint64_t sequence = 0;  // All blocks up to this one are applied.
    WriterCounts counts;
  };

  explicit ForgottenWriters(size_t most) : most_(most) {}

  // Nothing of it waits in a table. Others that had its id are known beside it.
  void Add(const std::string& id, const WriterSession& session);
  // What is known of this writer, if it is the same one and wrote to these very tables.
  std::optional<Writer> Find(const std::string& id, uint64_t incarnation,
                             const std::vector<std::shared_ptr<Table>>& tables) const;
  // It is back: what is known of it is not needed from then on.
  void Drop(const std::string& id, uint64_t incarnation) { writers_.erase({id, incarnation}); }

  size_t size() const { return writers_.size(); }

 private:
  struct Entry {
    Writer writer;
    std::vector<std::weak_ptr<Table>> tables;
    uint64_t number = 0;  // Counts those that were added.
  };

  using Key = std::pair<std::string, uint64_t>;  // Id and incarnation.

  const size_t most_;
  uint64_t added_ = 0;
  absl::flat_hash_map<Key, Entry> writers_;
  // By their numbers; some of them may have been dropped, or added again, since.
  std::deque<std::pair<uint64_t, Key>> order_;
};

}  // namespace waggle
