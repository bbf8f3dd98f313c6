#include "replay_server/service/batch_messages.h"

#include <utility>

#include "common/base/status_macros.h"
#include "common/replay/replay_convert.h"

namespace waggle {

absl::StatusOr<SlicedBatch> GatherForSending(const DrawnBatch& drawn, size_t bytes, bool in_one_run,
                                             BatchMemory* memory, std::shared_ptr<const void> share) {
  if (!in_one_run && drawn.has_large_rows()) {
    if (std::shared_ptr<const void> lent = memory->TryLend(drawn.HeldBytes()); lent != nullptr) {
      using Kept = std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>;
      const auto allocate = [memory](size_t piece) { return memory->Take(piece); };
      return drawn.GatherSlices(allocate, std::make_shared<const Kept>(std::move(lent), std::move(share)));
    }
  }
  // The block holds the share until it is freed.
  std::shared_ptr<char> block = memory->Take(bytes);
  char* const begin = block.get();
  std::shared_ptr<char> shared(begin, [block = std::move(block), share = std::move(share)](char* /*begin*/) {});
  WAGGLE_ASSIGN_OR_RETURN(SampledBatch batch, drawn.Gather(std::move(shared)));
  SlicedBatch slices;
  slices.data.Append({batch.bytes.get(), bytes, std::move(batch.bytes)});
  slices.facts = std::move(batch);
  return slices;
}

Message<v1::SampleResponse> BatchMessage(const SampledBatch& facts, int64_t items, bool first, BatchPiece piece) {
  Message<v1::SampleResponse> message;
  if (first) {
    v1::BatchHeader* header = message.header.mutable_batch();
    header->set_table_items(facts.table_items);
    header->set_priority_sum(facts.priority_sum);
    header->set_min_probability(facts.min_probability);
    header->set_items(static_cast<uint32_t>(items));
    header->set_samples_allowed(facts.samples_allowed);
    header->set_table_incarnation(facts.table_incarnation);
  }
  message.header.set_data_offset(piece.offset);
  if (piece.size > 0) {
    message.header.set_checksum(piece.checksum);
  }
  if (piece.codec != Codec::kNone) {
    message.header.set_compression(ToProto(piece.codec));
    message.header.set_uncompressed_bytes(piece.size);
  }
  message.data = std::move(piece.data);
  return message;
}

}  // namespace waggle
