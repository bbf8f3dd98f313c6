#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/net/message.h"
#include "replay_server/batches/drawn_batch.h"
#include "replay_server/service/batch_cutter.h"
#include "replay_server/service/batch_memory.h"
#include "waggle/v1/replay.pb.h"

// Conversion of drawn batches to messages for samplers.

namespace waggle {

// Gathers the rows of a batch of `bytes` bytes. Large rows are not copied, unless they must be `in_one_run`, or too
// many bytes are lent already. The batch holds `share` for as long as it takes memory. `memory` must outlive the call.
absl::StatusOr<SlicedBatch> GatherForSending(const DrawnBatch& drawn, size_t bytes, bool in_one_run,
                                             BatchMemory* memory, std::shared_ptr<const void> share);

// The message of one piece. The first piece's message has the batch's header.
Message<v1::SampleResponse> BatchMessage(const SampledBatch& facts, int64_t items, bool first, BatchPiece piece);

}  // namespace waggle
