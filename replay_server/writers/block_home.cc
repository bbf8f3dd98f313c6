#include "replay_server/writers/block_home.h"

#include <algorithm>

namespace waggle {
namespace {

// The tier of the largest limit: a block has only one. Null if a table has none: its rows stay in memory.
std::shared_ptr<ChunkTier> TierOf(const std::vector<std::shared_ptr<Table>>& tables) {
  std::shared_ptr<ChunkTier> largest;
  for (const auto& table : tables) {
    if (table->tier() == nullptr) {
      return nullptr;
    }
    if (largest == nullptr || table->tier()->limit() > largest->limit()) {
      largest = table->tier();
    }
  }
  return largest;
}

}  // namespace

BlockHome HomeOf(const TableLog* log, const std::vector<std::shared_ptr<Table>>& tables) {
  BlockHome home;
  home.tier = TierOf(tables);
  if (log != nullptr) {
    home.ledger = log->ledger();
    home.checkpointed = std::any_of(tables.begin(), tables.end(), [](const std::shared_ptr<Table>& table) {
      return table->created().durability == Durability::kCheckpoint;
    });
  }
  return home;
}

}  // namespace waggle
