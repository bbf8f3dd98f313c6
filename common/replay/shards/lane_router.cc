#include "common/replay/shards/lane_router.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "common/base/tensor/byte_slices.h"

namespace waggle {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

// Copies the bytes into one run unless they are one.
ByteSlice Joined(const ByteSlices& data) {
  if (data.slices().size() == 1) {
    return data.slices().front();
  }
  const std::shared_ptr<char> bytes = AllocateBytes(data.size());
  data.CopyTo(bytes.get());
  return {bytes.get(), data.size(), bytes};
}

}  // namespace

LaneRouter::LaneRouter(const std::vector<ArraySpec>& signature, size_t shards) : lane_counts_(shards) {
  for (const ArraySpec& column : signature) {
    column_bytes_.push_back(static_cast<size_t>(column.NumBytes()));
    row_bytes_ += column_bytes_.back();
  }
}

// True if the chunks continue their streams, the size of `data` is that of the chunks, and the items' streams are
// known.
bool LaneRouter::IsWhole(const InsertBlock& block) const {
  uint64_t rows = 0;
  std::unordered_map<uint32_t, uint64_t> next;
  for (const ChunkInfo& chunk : block.chunks) {
    if (chunk.rows == 0 || chunk.first_row > std::numeric_limits<uint64_t>::max() / 2) {
      return false;
    }
    const auto known = lanes_.find(chunk.stream);
    const auto [it, is_first] =
        next.emplace(chunk.stream, known == lanes_.end() ? chunk.first_row : known->second.next_row);
    if (it->second != chunk.first_row) {
      return false;
    }
    it->second += chunk.rows;
    rows += chunk.rows;
  }
  for (const ItemInfo& item : block.items) {
    if (item.rows == 0 || item.first_row > std::numeric_limits<uint64_t>::max() / 2 ||
        (lanes_.count(item.stream) == 0 && next.count(item.stream) == 0)) {
      return false;
    }
  }
  return block.compressed_bytes.empty() && block.data.size() == rows * row_bytes_;
}

uint64_t& LaneRouter::NextIn(Lane* lane, size_t shard, uint64_t otherwise) {
  for (auto& [known, next] : lane->next_in_shard) {
    if (known == shard) {
      return next;
    }
  }
  lane->next_in_shard.emplace_back(shard, otherwise);
  return lane->next_in_shard.back().second;
}

const LaneRouter::Stay& LaneRouter::Route(const ChunkInfo& chunk, const std::vector<bool>& lost, const Choose& choose,
                                          bool* moved) {
  const auto [it, is_new] = lanes_.try_emplace(chunk.stream);
  Lane& lane = it->second;
  *moved = false;
  if (is_new || chunk.begins || lost[lane.stay.shard]) {
    if (!is_new) {
      --lane_counts_[lane.stay.shard];
    }
    const size_t shard = choose(lane_counts_);
    ++lane_counts_[shard];
    if (is_new || shard != lane.stay.shard) {
      lane.stay = {chunk.first_row, shard, chunk.first_row - NextIn(&lane, shard, chunk.first_row)};
      *moved = !is_new;
    }
  }
  lane.next_row = chunk.first_row + chunk.rows;
  NextIn(&lane, lane.stay.shard, 0) = lane.next_row - lane.stay.offset;
  return lane.stay;
}

std::vector<LaneRouter::Part> LaneRouter::Split(InsertBlock block, const std::vector<bool>& lost,
                                                const Choose& choose) {
  std::vector<Part> parts;
  if (lane_counts_.size() == 1) {
    parts.push_back({0, std::move(block)});
    return parts;
  }
  if (!IsWhole(block)) {
    const auto lane = block.chunks.empty() ? lanes_.end() : lanes_.find(block.chunks.front().stream);
    parts.push_back({lane == lanes_.end() ? 0 : lane->second.stay.shard, std::move(block)});
    return parts;
  }
  Stays stays;  // By lane of this block, with the stay before the block.
  std::vector<size_t> part_of_shard(lane_counts_.size(), kNone);
  std::vector<size_t> shard_of_chunk;
  const auto part_for = [&](size_t shard) -> Part& {
    if (part_of_shard[shard] == kNone) {
      part_of_shard[shard] = parts.size();
      parts.push_back({shard, {}});
      parts.back().block.policy_version = block.policy_version;
      parts.back().block.highest_priority = block.highest_priority;
    }
    return parts[part_of_shard[shard]];
  };
  for (const ItemInfo& item : block.items) {
    if (const auto lane = lanes_.find(item.stream); lane != lanes_.end() && stays.count(item.stream) == 0) {
      stays[item.stream].push_back(lane->second.stay);
    }
  }
  for (const ChunkInfo& chunk : block.chunks) {
    bool moved = false;
    const Stay stay = Route(chunk, lost, choose, &moved);
    std::vector<Stay>& of_lane = stays[chunk.stream];
    if (of_lane.empty() || of_lane.back().first_row != stay.first_row) {
      of_lane.push_back(stay);
    }
    shard_of_chunk.push_back(stay.shard);
    part_for(stay.shard)
        .block.chunks.push_back({chunk.stream, chunk.first_row - stay.offset, chunk.rows, chunk.begins || moved});
  }
  for (const auto& [stream, of_lane] : stays) {
    for (const Stay& stay : of_lane) {
      part_for(stay.shard);  // An item's rows may all lie in earlier blocks.
    }
  }
  DivideData(block, shard_of_chunk, &parts, part_of_shard);
  AddItems(block, stays, &parts, part_of_shard);
  parts.erase(std::remove_if(parts.begin(), parts.end(),
                             [](const Part& part) { return part.block.chunks.empty() && part.block.items.empty(); }),
              parts.end());
  return parts;
}

void LaneRouter::DivideData(const InsertBlock& block, const std::vector<size_t>& shard_of_chunk,
                            std::vector<Part>* parts, const std::vector<size_t>& part_of_shard) const {
  if (block.chunks.empty() || block.data.size() == 0) {
    return;
  }
  if (std::all_of(shard_of_chunk.begin(), shard_of_chunk.end(),
                  [&](size_t shard) { return shard == shard_of_chunk.front(); })) {
    (*parts)[part_of_shard[shard_of_chunk.front()]].block.data = block.data;
    return;
  }
  const ByteSlice source = Joined(block.data);
  std::vector<size_t> rows(parts->size());
  for (size_t i = 0; i < block.chunks.size(); ++i) {
    rows[part_of_shard[shard_of_chunk[i]]] += block.chunks[i].rows;
  }
  std::vector<std::shared_ptr<char>> bytes;
  std::vector<char*> ends;
  for (const size_t count : rows) {
    bytes.push_back(AllocateBytes(std::max<size_t>(1, count * row_bytes_)));
    ends.push_back(bytes.back().get());
  }
  const char* from = source.data;
  for (const size_t column : column_bytes_) {
    for (size_t i = 0; i < block.chunks.size();) {
      // Neighbours for the same shard are copied at once.
      const size_t part = part_of_shard[shard_of_chunk[i]];
      size_t run = 0;
      for (; i < block.chunks.size() && part_of_shard[shard_of_chunk[i]] == part; ++i) {
        run += block.chunks[i].rows * column;
      }
      std::memcpy(ends[part], from, run);
      ends[part] += run;
      from += run;
    }
  }
  for (size_t part = 0; part < parts->size(); ++part) {
    if (rows[part] > 0) {
      (*parts)[part].block.data.Append({bytes[part].get(), rows[part] * row_bytes_, bytes[part]});
    }
  }
}

void LaneRouter::AddItems(const InsertBlock& block, const Stays& stays, std::vector<Part>* parts,
                          const std::vector<size_t>& part_of_shard) {
  for (const ItemInfo& item : block.items) {
    const std::vector<Stay>& of_lane = stays.at(item.stream);
    const uint64_t last_row = item.first_row + item.rows - 1;
    auto stay = of_lane.rbegin();
    while (stay + 1 != of_lane.rend() && stay->first_row > last_row) {
      ++stay;
    }
    if (item.first_row < stay->first_row + item.context_rows) {
      ++items_without_rows_;
      continue;
    }
    ItemInfo part = item;
    part.first_row -= stay->offset;
    (*parts)[part_of_shard[stay->shard]].block.items.push_back(part);
  }
}

}  // namespace waggle
