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

// Divides a writer's blocks among shards: each stream goes to one shard, and may change it where an episode begins, or
// anywhere if its shard is lost. Not thread-safe.
//
// A shard sees a stream with holes: the rows that others got. So rows are numbered anew for each shard, without a gap,
// and a stream comes (back) to one as at the beginning of an episode. A single shard gets the blocks as they are.
class LaneRouter {
 public:
  LaneRouter(const std::vector<ArraySpec>& signature, size_t shards);

  struct Part {
    size_t shard = 0;
    InsertBlock block;
  };
  // Chooses a shard for a stream that begins an episode, or has to leave its shard. `lanes` are those that each shard
  // has without it.
  using Choose = std::function<size_t(const std::vector<int64_t>& lanes)>;
  // The parts of the block, at most one for each shard. Streams of shards that are lost are moved. A block that is
  // malformed is not divided: whichever server gets it says what is wrong.
  std::vector<Part> Split(InsertBlock block, const std::vector<bool>& lost, const Choose& choose);

  // Windows that were left out because they reach back over their stream's forced move.
  uint64_t items_without_rows() const { return items_without_rows_; }
  // Streams that each shard has.
  const std::vector<int64_t>& lanes() const { return lane_counts_; }

 private:
  // Where a stream's rows from `first_row` on go, until the next stay.
  struct Stay {
    uint64_t first_row = 0;
    size_t shard = 0;
    uint64_t offset = 0;  // Modulo 2^64: of a row's number here over that in the shard.
  };
  struct Lane {
    uint64_t next_row = 0;
    Stay stay;
    std::vector<std::pair<size_t, uint64_t>> next_in_shard;  // By shard that it has ever been at.
  };
  using Stays = std::unordered_map<uint32_t, std::vector<Stay>>;

  bool IsWhole(const InsertBlock& block) const;
  const Stay& Route(const ChunkInfo& chunk, const std::vector<bool>& lost, const Choose& choose, bool* moved);
  static uint64_t& NextIn(Lane* lane, size_t shard, uint64_t otherwise);
  // The bytes of the chunks that go to each shard.
  void DivideData(const InsertBlock& block, const std::vector<size_t>& shard_of_chunk, std::vector<Part>* parts,
                  const std::vector<size_t>& part_of_shard) const;
  void AddItems(const InsertBlock& block, const Stays& stays, std::vector<Part>* parts,
                const std::vector<size_t>& part_of_shard);

  std::vector<size_t> column_bytes_;  // Of a row.
  size_t row_bytes_ = 0;
  std::unordered_map<uint32_t, Lane> lanes_;
  std::vector<int64_t> lane_counts_;
  uint64_t items_without_rows_ = 0;
};

}  // namespace waggle
