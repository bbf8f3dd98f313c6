#include "replay_server/writers/reserved_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "replay_server/batches/pinned_rows.h"
#include "replay_server/rows/row_source.h"

namespace waggle {
namespace {

// Bytes beyond twice the needed rows that are not worth a copy.
constexpr int64_t kSlackBytes = int64_t{1} << 20;

}  // namespace

const ReservedRows::Stream* ReservedRows::FindStream(uint32_t stream) const {
  if (found_ == nullptr || found_->first != stream) {
    const auto found = streams_.find(stream);
    found_ = found == streams_.end() ? nullptr : &*found;
  }
  return found_ == nullptr ? nullptr : &found_->second;
}

void ReservedRows::Forget(Streams::iterator stream) {
  found_ = nullptr;
  streams_.erase(stream);
}

const ReservedRows::Range* ReservedRows::Find(uint32_t stream) const {
  const Stream* const found = FindStream(stream);
  return found == nullptr ? nullptr : &found->range;
}

bool ReservedRows::MayJump(uint32_t stream) const {
  const Stream* const found = FindStream(stream);
  return found != nullptr && found->may_jump;
}

int64_t ReservedRows::TailRows(const Range& range) const {
  return static_cast<int64_t>(std::min(range.next - range.first, longest_window_));
}

// At least 1, so that rows without bytes count.
int64_t ReservedRows::RowBytes() const {
  return std::max<int64_t>(1, static_cast<int64_t>(layout_->row_bytes));
}

int64_t ReservedRows::TailBytes() const {
  return tail_rows_ * RowBytes() + streams() * static_cast<int64_t>(sizeof(Chunk));
}

int64_t ReservedRows::NeededBytes(const Ranges& longer) const {
  int64_t rows = tail_rows_;
  int64_t count = streams();
  for (const auto& [stream, range] : longer) {
    const Range* held = Find(stream);
    rows += TailRows({held != nullptr ? held->first : range.first, range.next});
    rows -= held != nullptr ? TailRows(*held) : 0;
    count += held != nullptr ? 0 : 1;
  }
  return rows * RowBytes() + count * kStreamBytes;
}

void ReservedRows::Hold(Stream* stream, uint64_t first_row, ChunkRef chunk) {
  stream->chunks.push_back({first_row, std::move(chunk)});
  const ChunkRef& held = stream->chunks.back().chunk;
  if ((*held->pins(holders_ - 1))++ == 0) {
    block_bytes_ += held->block_bytes();
  }
}

void ReservedRows::Release(const ChunkRef& chunk) {
  if (--(*chunk->pins(holders_ - 1)) == 0) {
    block_bytes_ -= chunk->block_bytes();
  }
}

void ReservedRows::Append(absl::Span<const ChunkInfo> infos, const std::vector<ChunkRef>& chunks) {
  for (size_t i = 0; i < infos.size(); ++i) {
    const ChunkInfo& info = infos[i];
    const auto [place, is_new] = streams_.try_emplace(info.stream);
    Stream& stream = place->second;
    if (is_new) {
      stream.range = {info.first_row, info.first_row};
    }
    tail_rows_ -= TailRows(stream.range);
    if (std::exchange(stream.may_jump, false) && info.first_row > stream.range.next) {
      while (!stream.chunks.empty()) {
        PopFront(&stream);
      }
      stream.range.first = info.first_row;
    }
    Hold(&stream, info.first_row, chunks[i]);
    stream.range.next = info.first_row + info.rows;
    tail_rows_ += TailRows(stream.range);
  }
}

void ReservedRows::UndoAppend(absl::Span<const ChunkInfo> infos) {
  for (auto info = infos.rbegin(); info != infos.rend(); ++info) {
    const auto it = streams_.find(info->stream);
    Stream& stream = it->second;
    Release(stream.chunks.back().chunk);
    stream.chunks.pop_back();
    tail_rows_ -= TailRows(stream.range);
    stream.range.next = info->first_row;
    tail_rows_ += TailRows(stream.range);
    if (stream.chunks.empty()) {
      Forget(it);
    }
  }
}

void ReservedRows::PopFront(Stream* stream) {
  Release(stream->chunks.front().chunk);
  stream->chunks.pop_front();
}

void ReservedRows::ForgetOld(absl::Span<const ChunkInfo> infos) {
  for (const ChunkInfo& info : infos) {
    Stream& stream = streams_.find(info.stream)->second;
    if (info.begins) {
      tail_rows_ -= TailRows(stream.range);
      while (stream.chunks.front().first_row < info.first_row) {
        PopFront(&stream);
      }
      stream.range.first = info.first_row;
      tail_rows_ += TailRows(stream.range);
    }
    while (stream.chunks.size() > 1 && stream.chunks[1].first_row + longest_window_ <= stream.range.next) {
      PopFront(&stream);
    }
    // The remaining rows are at least the longest window or all, so the needed rows are the same.
    stream.range.first = stream.chunks.front().first_row;
  }
}

bool ReservedRows::IsWasteful(bool tight) const {
  return block_bytes_ > 2 * TailBytes() + (tight ? 0 : kSlackBytes);
}

bool ReservedRows::Shrink() {
  if (block_bytes_ <= 2 * TailBytes() || tail_rows_ > std::numeric_limits<uint32_t>::max() ||
      tail_rows_ * RowBytes() > std::numeric_limits<uint32_t>::max()) {
    return false;
  }
  // Rows on disk take no memory, and this must not wait for them.
  PinnedRows pinned;
  if (home_.tier != nullptr && !pinned.TryPin(AllChunks())) {
    return false;
  }
  std::vector<uint32_t> rows;
  rows.reserve(streams_.size());
  for (const auto& [number, stream] : streams_) {
    rows.push_back(static_cast<uint32_t>(TailRows(stream.range)));
  }
  // Few rows are not worth compressing.
  std::vector<uint32_t> pieces;
  for (const size_t column : layout_->compressed) {
    for (const uint32_t count : rows) {
      pieces.push_back(static_cast<uint32_t>(count * layout_->column_bytes[column]));
    }
  }
  const NewBlock made = MakeChunks(layout_, rows, holders_, pieces, home_);
  RowSource source(*layout_);
  size_t at = 0;
  size_t i = 0;
  for (auto& [number, stream] : streams_) {
    CopyTail(stream, static_cast<size_t>(tail_rows_), at, &source, made.data);
    Hold(&stream, stream.range.next - rows[i], made.chunks[i]);
    while (stream.chunks.size() > 1) {
      PopFront(&stream);
    }
    stream.range.first = stream.range.next - rows[i];
    at += rows[i];
    ++i;
  }
  return true;
}

std::vector<const Chunk*> ReservedRows::AllChunks() const {
  std::vector<const Chunk*> chunks;
  for (const auto& [number, stream] : streams_) {
    for (const HeldChunk& held : stream.chunks) {
      chunks.push_back(held.chunk.get());
    }
  }
  return chunks;
}

StreamRecord ReservedRows::Record(uint32_t stream) const {
  const Stream& held = *FindStream(stream);
  StreamRecord record;
  record.stream = stream;
  record.first = held.range.first;
  record.next = held.range.next;
  record.parts.reserve(held.chunks.size());
  for (const HeldChunk& part : held.chunks) {
    record.parts.push_back({part.first_row, part.chunk});
  }
  return record;
}

std::vector<StreamRecord> ReservedRows::RecordAll() const {
  std::vector<StreamRecord> records;
  records.reserve(streams_.size());
  for (const auto& [number, stream] : streams_) {
    records.push_back(Record(number));
  }
  return records;
}

void ReservedRows::Restore(const std::vector<StreamRecord>& streams) {
  for (const StreamRecord& record : streams) {
    Stream& stream = streams_[record.stream];
    stream.range = {record.first, record.next};
    stream.may_jump = true;
    tail_rows_ += TailRows(stream.range);
    for (const StreamRecord::Part& part : record.parts) {
      Hold(&stream, part.first_row, part.chunk);
    }
  }
}

// Copies to rows `at` and following of a block of `block_rows` rows.
void ReservedRows::CopyTail(const Stream& stream, size_t block_rows, size_t at, RowSource* source, char* data) const {
  const uint64_t first = stream.range.next - static_cast<uint64_t>(TailRows(stream.range));
  for (const HeldChunk& held : stream.chunks) {
    const uint64_t end = held.first_row + held.chunk->rows();
    if (end <= first) {
      continue;
    }
    const size_t skip = first > held.first_row ? static_cast<size_t>(first - held.first_row) : 0;
    const size_t count = held.chunk->rows() - skip;
    char* pieces = data + layout_->plain_row_bytes * block_rows;
    for (size_t column = 0; column < layout_->signature.size(); ++column) {
      const size_t bytes = layout_->column_bytes[column];
      // The pieces of one column, one a stream, follow each other like a plain column's rows.
      char* to = data + layout_->column_start[column] * block_rows;
      if (layout_->codec_of[column] != Codec::kNone) {
        to = pieces;
        pieces += block_rows * bytes;
      }
      std::memcpy(to + at * bytes, source->Row(*held.chunk, column, skip), count * bytes);
    }
    at += count;
  }
}

ReservedRows::Found ReservedRows::FindWindow(const ItemInfo& item, size_t max_chunks, Window* window) const {
  const Stream* const found = FindStream(item.stream);
  const uint64_t begin = item.first_row - item.context_rows;
  if (found == nullptr || found->range.first > begin) {
    return Found::kNoRows;
  }
  const std::deque<HeldChunk>& chunks = found->chunks;
  // Nearly all windows begin in one of the two newest chunks. Others need a search.
  size_t first = chunks.size() - 1;
  if (chunks[first].first_row > begin && first > 0 && chunks[--first].first_row > begin) {
    const auto after = std::upper_bound(chunks.begin(), chunks.end(), begin,
                                        [](uint64_t row, const HeldChunk& held) { return row < held.first_row; });
    first = static_cast<size_t>(after - chunks.begin()) - 1;
  }
  window->offset = static_cast<uint32_t>(begin - chunks[first].first_row);
  window->rows = item.rows;
  window->context = static_cast<uint8_t>(item.context_rows);
  const uint64_t end = item.first_row + item.rows;
  for (size_t i = first; i < chunks.size() && chunks[i].first_row < end; ++i) {
    if (window->chunks.size() == max_chunks) {
      return Found::kTooManyChunks;
    }
    window->chunks.push_back(chunks[i].chunk);
  }
  return Found::kAll;
}

}  // namespace waggle
