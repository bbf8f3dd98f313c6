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

// What a drawn batch becomes on its way to a sampler.

namespace waggle {

// The rows of a batch of so many bytes. Large ones are sent from where they lie, unless they are wanted `in_one_run`,
// or too many bytes are being sent like that. `share` is kept for as long as the batch takes memory. The memory
// outlives the call.
absl::StatusOr<SlicedBatch> GatherForSending(const DrawnBatch& drawn, size_t bytes, bool in_one_run,
                                             BatchMemory* memory, std::shared_ptr<const void> share);

// One piece of it, whose data it takes over; the first one says what there is to know of the batch.
Message<v1::SampleResponse> BatchMessage(const SampledBatch& facts, int64_t items, bool first, BatchPiece piece);

}  // namespace waggle
