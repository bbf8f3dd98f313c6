#include "replay_server/batches/pinned_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace waggle {
namespace {

// All readers pin in this order, tier by tier, so that they cannot deadlock.
void Sort(std::vector<TieredRows*>* rows) {
  std::sort(rows->begin(), rows->end(), [](const TieredRows* a, const TieredRows* b) {
    return std::make_tuple(a->tier.get(), a) < std::make_tuple(b->tier.get(), b);
  });
  rows->erase(std::unique(rows->begin(), rows->end()), rows->end());
}

template <class Take>
void ForEachTier(const std::vector<TieredRows*>& rows, const Take& take) {
  for (auto begin = rows.begin(); begin != rows.end();) {
    const auto end =
        std::find_if(begin, rows.end(), [begin](const TieredRows* each) { return each->tier != (*begin)->tier; });
    if (!take(std::vector<TieredRows*>(begin, end))) {
      return;
    }
    begin = end;
  }
}

}  // namespace

absl::Status PinnedRows::Pin(const Chunk& chunk) {
  TieredRows* const rows = chunk.tiered();
  return PinAll(rows == nullptr ? std::vector<TieredRows*>() : std::vector<TieredRows*>{rows});
}

absl::Status PinnedRows::Pin(const Window& window) {
  std::vector<TieredRows*> rows;
  for (const ChunkRef& chunk : window.chunks) {
    if (TieredRows* const each = chunk->tiered(); each != nullptr) {
      rows.push_back(each);
    }
  }
  return PinAll(std::move(rows));
}

absl::StatusOr<size_t> PinnedRows::Pin(absl::Span<const SampledItem> items) {
  absl::flat_hash_set<TieredRows*> rows;
  int64_t bytes = 0;
  size_t count = 0;
  for (; count < items.size(); ++count) {
    int64_t most = 0;
    int64_t more = 0;
    absl::InlinedVector<TieredRows*, 4> news;
    for (const ChunkRef& chunk : items[count].window.chunks) {
      TieredRows* const each = chunk->tiered();
      if (each != nullptr && rows.count(each) == 0 && std::find(news.begin(), news.end(), each) == news.end()) {
        news.push_back(each);
        more += static_cast<int64_t>(each->bytes);
        most = std::max(most, each->tier->margin());
      }
    }
    if (count > 0 && more > 0 && bytes + more > most) {
      break;
    }
    bytes += more;
    rows.insert(news.begin(), news.end());
  }
  const absl::Status status = PinAll({rows.begin(), rows.end()});
  return status.ok() ? absl::StatusOr<size_t>(count) : absl::StatusOr<size_t>(status);
}

absl::Status PinnedRows::PinAll(std::vector<TieredRows*> rows) {
  Unpin();
  Sort(&rows);
  absl::Status status;
  ForEachTier(rows, [this, &status](std::vector<TieredRows*> of_tier) {
    status = of_tier.front()->tier->Pin(of_tier);
    if (!status.ok()) {
      return false;
    }
    Keep(std::move(of_tier));
    return true;
  });
  if (!status.ok()) {
    Unpin();
  }
  return status;
}

bool PinnedRows::TryPin(absl::Span<const Chunk* const> chunks) {
  std::vector<TieredRows*> rows;
  for (const Chunk* chunk : chunks) {
    if (TieredRows* const each = chunk->tiered(); each != nullptr) {
      rows.push_back(each);
    }
  }
  return TryPinAll(std::move(rows), /*in_turn=*/false);
}

bool PinnedRows::TryPin(absl::Span<const SampledItem> items) {
  std::vector<TieredRows*> rows;
  rows.reserve(items.size());
  for (const SampledItem& item : items) {
    for (const ChunkRef& chunk : item.window.chunks) {
      if (TieredRows* const each = chunk->tiered(); each != nullptr) {
        rows.push_back(each);
      }
    }
  }
  return TryPinAll(std::move(rows), /*in_turn=*/true);
}

bool PinnedRows::TryPinAll(std::vector<TieredRows*> rows, bool in_turn) {
  Unpin();
  Sort(&rows);
  bool all = true;
  ForEachTier(rows, [this, in_turn, &all](std::vector<TieredRows*> of_tier) {
    ChunkTier* const tier = of_tier.front()->tier.get();
    all = in_turn ? tier->TryPinInTurn(of_tier) : tier->TryPin(of_tier);
    if (all) {
      Keep(std::move(of_tier));
    }
    return all;
  });
  if (!all) {
    Unpin();
  }
  return all;
}

void PinnedRows::Keep(std::vector<TieredRows*> rows) {
  for (const TieredRows* each : rows) {
    HoldBlock(each->block);
  }
  pinned_.push_back(std::move(rows));
}

void PinnedRows::Unpin() {
  for (const std::vector<TieredRows*>& rows : pinned_) {
    rows.front()->tier->Unpin(rows);
    for (const TieredRows* each : rows) {
      ReleaseBlock(each->block);
    }
  }
  pinned_.clear();
}

}  // namespace waggle
