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

// Puts a batch together from the pieces in which it travels. Not thread-safe.
class BatchAssembler {
 public:
  // The layout of the next batch, which has so many items; an error if it should not. One of no bytes has no pieces but
  // the first.
  using LayoutOf = std::function<absl::StatusOr<std::shared_ptr<const BatchLayout>>(uint32_t items)>;

  // The pool's blocks have room for every batch, and the pool outlives the assembler.
  BatchAssembler(LayoutOf layout_of, BufferPool* pool);

  // Takes the next message of the stream. Returns the batch if this was its last piece. INTERNAL for a piece that is
  // not the one that follows: of the wrong place, longer than the batch, empty, or without the header that begins one.
  // DATA_LOSS for one whose checksum does not fit, or that does not decompress into the bytes that it stands for.
  absl::StatusOr<std::optional<SampledBatch>> Add(const v1::SampleResponse& header, const ByteSlices& data);

 private:
  absl::Status Begin(const v1::BatchHeader& facts);
  // The bytes, of which there are `size`, to where they belong in the batch.
  absl::Status Place(const v1::SampleResponse& header, const ByteSlices& data, size_t size);

  const LayoutOf layout_of_;
  BufferPool* const pool_;
  SampledBatch batch_;  // Without a layout where none is begun.
  size_t received_ = 0;
};

}  // namespace waggle
