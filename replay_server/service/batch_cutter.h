#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/tensor/byte_slices.h"
#include "common/base/tensor/compression.h"
#include "common/base/threads/mutex.h"
#include "replay_server/service/batch_memory.h"

namespace waggle {

// A part of a batch, as it travels.
struct BatchPiece {
  size_t offset = 0;  // In the batch, and
  size_t size = 0;    // how many bytes of it this is.
  Codec codec = Codec::kNone;
  ByteSlices data;
  uint64_t checksum = 0;  // Of `data`.
};

// Cuts a stream's batches into pieces, and compresses those that become much shorter by that. What is at one place of
// one batch is much like what is there in the next, for batches lie column by column: where compressing did not pay, it
// is left alone for a while. Thread-safe.
class BatchCutter {
 public:
  // What compressing takes may be had from `memory`, which outlives the calls.
  BatchCutter(Codec codec, BatchMemory* memory) : codec_(codec), memory_(memory) {}

  // At least one piece. Compressed ones do not hold on to what the batch's bytes are owned by.
  std::vector<BatchPiece> Cut(const ByteSlices& batch);

  Codec codec() const { return codec_; }

 private:
  // A compressed piece has at most this share of its bytes: what saves less costs more time than it saves, unless the
  // network is slow indeed.
  static constexpr double kMaxShare = 0.7;
  // How many batches leave a place alone where it did not pay.
  static constexpr uint8_t kBatchesLeftAlone = 63;

  bool ShouldTry(size_t piece) ABSL_LOCKS_EXCLUDED(mutex_);
  void LeaveAlone(size_t piece) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether it did.
  bool TryCompress(BatchPiece* piece) const;

  const Codec codec_;
  BatchMemory* const memory_;
  Mutex mutex_;
  std::vector<uint8_t> left_alone_ ABSL_GUARDED_BY(mutex_);  // By piece: for so many more batches.
};

}  // namespace waggle
