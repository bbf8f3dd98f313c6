#include "replay_server/service/batch_cutter.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "common/base/tensor/checksum.h"
#include "common/net/channel.h"

namespace waggle {

std::vector<BatchPiece> BatchCutter::Cut(const ByteSlices& batch) {
  const size_t total = batch.size();
  std::vector<BatchPiece> pieces;
  do {
    BatchPiece piece;
    piece.offset = pieces.size() * static_cast<size_t>(kPieceBytes);
    piece.size = std::min(total - piece.offset, static_cast<size_t>(kPieceBytes));
    piece.data = batch.Part(piece.offset, piece.size);
    if (codec_ != Codec::kNone && piece.size > 0 && ShouldTry(pieces.size()) && !TryCompress(&piece)) {
      LeaveAlone(pieces.size());
    }
    piece.checksum = Checksum(piece.data);
    pieces.push_back(std::move(piece));
  } while (pieces.back().offset + pieces.back().size < total);
  return pieces;
}

bool BatchCutter::ShouldTry(size_t piece) {
  MutexLock lock(&mutex_);
  if (piece >= left_alone_.size()) {
    left_alone_.resize(piece + 1);
  }
  if (left_alone_[piece] == 0) {
    return true;
  }
  --left_alone_[piece];
  return false;
}

void BatchCutter::LeaveAlone(size_t piece) {
  MutexLock lock(&mutex_);
  left_alone_[piece] = kBatchesLeftAlone;
}

bool BatchCutter::TryCompress(BatchPiece* piece) const {
  const std::shared_ptr<const char> bytes = InOneRun(piece->data);
  const std::shared_ptr<char> room = memory_->Take(MaxCompressedBytes(codec_, piece->size));
  const size_t compressed = Compress(codec_, bytes.get(), piece->size, room.get());
  if (compressed == 0 || static_cast<double>(compressed) > kMaxShare * static_cast<double>(piece->size)) {
    return false;
  }
  std::shared_ptr<char> kept = AllocateBytes(compressed);  // `room` is far larger.
  std::memcpy(kept.get(), room.get(), compressed);
  piece->data = ByteSlices({kept.get(), compressed, kept});
  piece->codec = codec_;
  return true;
}

}  // namespace waggle
