#pragma once

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "common/api/replay.h"
#include "common/tensor/buffer_pool.h"
#include "common/tensor/byte_slices.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {

// Puts a batch together from the pieces in which it travels. Not thread-safe.
class BatchAssembler {
 public:
  // The pool's blocks have the layout's size, and the pool outlives the assembler.
  BatchAssembler(std::shared_ptr<const BatchLayout> layout, BufferPool* pool);

  // Takes the next message of the stream. Returns the batch if this was its last piece. INTERNAL for a piece that is
  // not the one that follows: of the wrong place, longer than the batch, empty, or without the header that begins one.
  absl::StatusOr<std::optional<SampledBatch>> Add(const v1::SampleResponse& header, const ByteSlices& data);

 private:
  const std::shared_ptr<const BatchLayout> layout_;
  BufferPool* const pool_;
  SampledBatch batch_;  // Without bytes where none is begun.
  size_t received_ = 0;
};

}  // namespace waggle
