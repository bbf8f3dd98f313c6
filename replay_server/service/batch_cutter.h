#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/tensor/byte_slices.h"
#include "common/base/tensor/compression.h"
#include "common/base/threads/mutex.h"
#include "replay_server/service/batch_memory.h"

namespace waggle {

// A part of a batch in the form in which it is sent.
struct BatchPiece {
  size_t offset = 0;  // In the batch.
  size_t size = 0;    // Uncompressed bytes.
  Codec codec = Codec::kNone;
  ByteSlices data;
  uint64_t checksum = 0;  // The checksum of `data`.
};

// Cuts a stream's batches into pieces, and compresses pieces that become much shorter. Batches lie column by column, so
// pieces at one offset are alike in all batches: offsets where compression did not pay are skipped for a while.
// Thread-safe.
class BatchCutter {
 public:
  // `memory` provides the buffers for compression, and must outlive the calls.
  BatchCutter(Codec codec, BatchMemory* memory) : codec_(codec), memory_(memory) {}

  // Returns at least one piece. Compressed pieces do not keep the batch alive.
  std::vector<BatchPiece> Cut(const ByteSlices& batch);

  Codec codec() const { return codec_; }

 private:
  // A compressed piece has at most this share of its bytes. Saving less costs time, except on a very slow network.
  static constexpr double kMaxShare = 0.7;
  // The number of batches that skip an offset where compression did not pay.
  static constexpr uint8_t kBatchesLeftAlone = 63;

  bool ShouldTry(size_t piece) ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveAlone(size_t piece) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns true if the piece is compressed now.
  bool TryCompress(BatchPiece* piece) const;

  const Codec codec_;
  BatchMemory* const memory_;
  Mutex mutex_;
  std::vector<uint8_t> left_alone_ ABSL_GUARDED_BY(mutex_);  // Batches that skip a piece, by piece.
};

}  // namespace waggle
