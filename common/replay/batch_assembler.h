#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "common/base/tensor/buffer_pool.h"
#include "common/base/tensor/byte_slices.h"
#include "common/replay/ports/replay.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

// Assembles batches from the pieces in which they travel. Not thread-safe.
class BatchAssembler {
 public:
  // Returns the layout of a batch of `items` items, or an error if the receiver allows no such batch.
  using LayoutOf = std::function<absl::StatusOr<std::shared_ptr<const BatchLayout>>(uint32_t items)>;

  // The pool's blocks must have room for every batch. The pool must outlive the assembler.
  BatchAssembler(LayoutOf layout_of, BufferPool* pool);

  // Takes the next message of the stream. Returns the batch after its last piece. INTERNAL for an unexpected piece: at
  // another offset, empty, longer than the rest of the batch, or without the header of a new batch. DATA_LOSS for a
  // wrong checksum, or if the piece does not decompress into its bytes.
  absl::StatusOr<std::optional<SampledBatch>> Add(const v1::SampleResponse& header, const ByteSlices& data);

 private:
  absl::Status Begin(const v1::BatchHeader& facts);
  // Copies or decompresses a piece into the batch, where it has `size` bytes.
  absl::Status Place(const v1::SampleResponse& header, const ByteSlices& data, size_t size);

  const LayoutOf layout_of_;
  BufferPool* const pool_;
  SampledBatch batch_;  // Without a layout between two batches.
  size_t received_ = 0;
};

}  // namespace waggle
