#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// Divides a writer's blocks among shards. A stream stays at its shard for an episode at least, unless that shard is
// lost. Not thread-safe.
//
// Each shard gets only some of a stream's rows. So rows have numbers without gaps for each shard, and a stream that
// moves begins an episode there. A single shard gets the blocks unchanged.
class LaneRouter {
 public:
  LaneRouter(const std::vector<ArraySpec>& signature, size_t shards);

  struct Part {
    size_t shard = 0;
    InsertBlock block;
  };
  // Chooses the shard of a stream. `lanes` counts the other streams of each shard.
  using Choose = std::function<size_t(const std::vector<int64_t>& lanes)>;
  // Returns at most one part for each shard. Moves the streams of lost shards. A malformed block stays whole: the
  // server that gets it returns the error.
  std::vector<Part> Split(InsertBlock block, const std::vector<bool>& lost, const Choose& choose);

  // Dropped windows, which reach back over a forced move of their stream.
  uint64_t items_without_rows() const { return items_without_rows_; }
  // By shard, the number of its streams.
  const std::vector<int64_t>& lanes() const { return lane_counts_; }

 private:
  // The shard of a stream's rows from `first_row` on, until the next stay.
  struct Stay {
    uint64_t first_row = 0;
    size_t shard = 0;
    uint64_t offset = 0;  // A row's number here minus its number in the shard, modulo 2^64.
  };
  struct Lane {
    uint64_t next_row = 0;
    Stay stay;
    std::vector<std::pair<size_t, uint64_t>> next_in_shard;  // By shard, for all that the stream has been at.
  };
  using Stays = std::unordered_map<uint32_t, std::vector<Stay>>;

  bool IsWhole(const InsertBlock& block) const;
  const Stay& Route(const ChunkInfo& chunk, const std::vector<bool>& lost, const Choose& choose, bool* moved);
  static uint64_t& NextIn(Lane* lane, size_t shard, uint64_t otherwise);
  void DivideData(const InsertBlock& block, const std::vector<size_t>& shard_of_chunk, std::vector<Part>* parts,
                  const std::vector<size_t>& part_of_shard) const;
  void AddItems(const InsertBlock& block, const Stays& stays, std::vector<Part>* parts,
                const std::vector<size_t>& part_of_shard);

  std::vector<size_t> column_bytes_;  // Bytes of a row.
  size_t row_bytes_ = 0;
  std::unordered_map<uint32_t, Lane> lanes_;
  std::vector<int64_t> lane_counts_;
  uint64_t items_without_rows_ = 0;
};

}  // namespace waggle
