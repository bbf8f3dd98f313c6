#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/types/span.h"
#include "common/api/replay.h"
#include "replay_server/items/table_log.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {

class RowSource;

// The newest rows of one writer's streams: of each at least as many as the longest window has, because windows of later
// blocks may reach back to them. Not thread-safe.
//
// A chunk keeps the whole block alive in which it came. Where that makes much more memory than the rows need, they are
// copied to a block of their own.
class HeldRows {
 public:
  // Where a stream begins and ends, in rows.
  struct Range {
    uint64_t first = 0;
    uint64_t next = 0;
  };
  using Ranges = absl::flat_hash_map<uint32_t, Range>;

  // The blocks have `holders` counts of pins, the last of which is this object's; those that it makes have this home.
  HeldRows(std::shared_ptr<const RowLayout> layout, uint64_t longest_window, size_t holders, BlockHome home = {})
      : layout_(std::move(layout)), longest_window_(longest_window), holders_(holders), home_(std::move(home)) {}
  HeldRows(const HeldRows&) = delete;
  HeldRows& operator=(const HeldRows&) = delete;

  int64_t streams() const { return static_cast<int64_t>(streams_.size()); }
  // From the first row that is held to the stream's next one; null for an unknown stream.
  const Range* Find(uint32_t stream) const;
  // Whether the stream is as it was saved, and may go on with a later row than its next one: what its writer sent in
  // between was lost with the server.
  bool MayJump(uint32_t stream) const;

  // What it takes to hold these streams up to there beside the others, at the least: what cannot be forgotten.
  int64_t NeededBytes(const Ranges& longer) const;
  // What it keeps alive.
  int64_t bytes() const { return block_bytes_ + streams() * kStreamBytes; }

  // Chunk i is what `infos[i]` says; it begins where its stream ends, or later where that may jump, or a new stream.
  void Append(absl::Span<const ChunkInfo> infos, const std::vector<ChunkRef>& chunks);
  // Takes the last Append back, of which nothing was forgotten.
  void UndoAppend(absl::Span<const ChunkInfo> infos);
  // Forgets rows of these streams, which were appended last, that no window to come may have.
  void ForgetOld(absl::Span<const ChunkInfo> infos);
  // Whether so much more is kept alive than is needed that Shrink is worth its time, of which less may be lost where
  // memory is tight.
  bool IsWasteful(bool tight = false) const;
  // Copies the rows that are needed to a block of their own, if that saves memory, and all of them are in memory.
  // Returns whether it did.
  bool Shrink();

  // A stream that is held, as it is now; all of them.
  StreamRecord Record(uint32_t stream) const;
  std::vector<StreamRecord> RecordAll() const;
  // Holds what was recorded. Called before anything else.
  void Restore(const std::vector<StreamRecord>& streams);

  // Fills in the window, with its context, unless it has more chunks than `max_chunks` or its first row is not held.
  enum class Found { kAll, kTooManyChunks, kNoRows };
  Found FindWindow(const ItemInfo& item, size_t max_chunks, Window* window) const;

 private:
  // About what a stream costs beside its rows.
  static constexpr int64_t kStreamBytes = 1024;

  struct HeldChunk {
    uint64_t first_row = 0;
    ChunkRef chunk;
  };
  struct Stream {
    Range range;
    std::deque<HeldChunk> chunks;  // In order, without a gap, over the whole range.
    bool may_jump = false;
  };

  using Streams = absl::node_hash_map<uint32_t, Stream>;

  // Null for an unknown one.
  const Stream* FindStream(uint32_t stream) const;
  void Forget(Streams::iterator stream);
  int64_t TailRows(const Range& range) const;
  int64_t RowBytes() const;
  // What the rows that are needed take in a block of their own.
  int64_t TailBytes() const;
  std::vector<const Chunk*> AllChunks() const;
  void Hold(Stream* stream, uint64_t first_row, ChunkRef chunk);
  void Release(const ChunkRef& chunk);
  void PopFront(Stream* stream);
  void CopyTail(const Stream& stream, size_t block_rows, size_t at, RowSource* source, char* data) const;

  const std::shared_ptr<const RowLayout> layout_;
  const uint64_t longest_window_;
  const size_t holders_;
  const BlockHome home_;
  Streams streams_;
  mutable const Streams::value_type* found_ = nullptr;  // That was looked for last, and nearly always is the next time.
  int64_t tail_rows_ = 0;                               // Of all streams, those that are needed.
  int64_t block_bytes_ = 0;                             // Of the blocks that it has pinned.
};

}  // namespace waggle
