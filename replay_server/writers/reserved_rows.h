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
#include "common/replay/ports/replay.h"
#include "replay_server/items/table_log.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/chunk.h"
#include "replay_server/rows/row_layout.h"

namespace waggle {

class RowSource;

// The newest rows of one writer's streams. Each stream has at least as many as the longest window, because windows of
// later blocks may reach back to them. Not thread-safe.
//
// A chunk keeps its block alive. If blocks take much more memory than the needed rows, these are copied to a new one.
class ReservedRows {
 public:
  // Row numbers of a stream.
  struct Range {
    uint64_t first = 0;
    uint64_t next = 0;
  };
  using Ranges = absl::flat_hash_map<uint32_t, Range>;

  // Blocks have `holders` pin counts; this object has the last one. `home` is the home of blocks that it makes.
  ReservedRows(std::shared_ptr<const RowLayout> layout, uint64_t longest_window, size_t holders, BlockHome home = {})
      : layout_(std::move(layout)), longest_window_(longest_window), holders_(holders), home_(std::move(home)) {}
  ReservedRows(const ReservedRows&) = delete;
  ReservedRows& operator=(const ReservedRows&) = delete;

  int64_t streams() const { return static_cast<int64_t>(streams_.size()); }
  // The range from the first held row to the next row; null if the stream is unknown.
  const Range* Find(uint32_t stream) const;
  // True if a restored stream may skip rows: those that its writer sent meanwhile were lost with the server.
  bool MayJump(uint32_t stream) const;

  // The least bytes that all streams need if these are extended to `longer`.
  int64_t NeededBytes(const Ranges& longer) const;
  // Bytes of the blocks that it keeps alive.
  int64_t bytes() const { return block_bytes_ + streams() * kStreamBytes; }

  // Appends chunk i by `infos[i]`. It must begin at its stream's next row, or later if that may jump or is new.
  void Append(absl::Span<const ChunkInfo> infos, const std::vector<ChunkRef>& chunks);
  // Undoes the last Append. Nothing may have been forgotten since.
  void UndoAppend(absl::Span<const ChunkInfo> infos);
  // Forgets rows of these streams, which were appended last, that no later window can have.
  void ForgetOld(absl::Span<const ChunkInfo> infos);
  // True if Shrink would free enough to be worth its time. `tight` lowers that amount, for when memory is short.
  bool IsWasteful(bool tight = false) const;
  // Copies the needed rows to a new block if that saves memory and all are in memory. Returns true if it did.
  bool Shrink();

  StreamRecord Record(uint32_t stream) const;
  std::vector<StreamRecord> RecordAll() const;
  // Must be called before other functions.
  void Restore(const std::vector<StreamRecord>& streams);

  // Fills in the window and its context, unless they have more than `max_chunks` chunks or their first row is not held.
  enum class Found { kAll, kTooManyChunks, kNoRows };
  Found FindWindow(const ItemInfo& item, size_t max_chunks, Window* window) const;

 private:
  // Approximate cost of a stream besides its rows.
  static constexpr int64_t kStreamBytes = 1024;

  struct HeldChunk {
    uint64_t first_row = 0;
    ChunkRef chunk;
  };
  struct Stream {
    Range range;
    std::deque<HeldChunk> chunks;  // The whole range, in order.
    bool may_jump = false;
  };

  using Streams = absl::node_hash_map<uint32_t, Stream>;

  // Null if the stream is unknown.
  const Stream* FindStream(uint32_t stream) const;
  void Forget(Streams::iterator stream);
  int64_t TailRows(const Range& range) const;
  int64_t RowBytes() const;
  // Bytes of the needed rows in a block of their own.
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
  mutable const Streams::value_type* found_ = nullptr;  // The last stream that was found, usually wanted again.
  int64_t tail_rows_ = 0;                               // Needed rows of all streams.
  int64_t block_bytes_ = 0;                             // Pinned blocks.
};

}  // namespace waggle
