#include "common/clients/batch_assembler.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {

BatchAssembler::BatchAssembler(std::shared_ptr<const BatchLayout> layout, BufferPool* pool)
    : layout_(std::move(layout)), pool_(pool) {}

absl::StatusOr<std::optional<SampledBatch>> BatchAssembler::Add(const v1::SampleResponse& header,
                                                                const ByteSlices& data) {
  const bool begins = batch_.bytes == nullptr;
  if (header.has_opened() || header.has_batch() != begins) {
    return absl::InternalError(begins ? "the server sent a piece of a batch that it has not begun"
                                      : "the server began a batch within another one");
  }
  if (header.data_offset() != received_ || data.size() == 0 || data.size() > layout_->total_bytes - received_) {
    return absl::InternalError(absl::StrCat("the server sent ", data.size(), " bytes at byte ", header.data_offset(),
                                            " of a batch; it has ", layout_->total_bytes, " bytes, and byte ",
                                            received_, " is the next"));
  }
  if (begins) {
    const v1::BatchHeader& facts = header.batch();
    if (!std::isfinite(facts.priority_sum()) || !std::isfinite(facts.min_probability())) {
      return absl::InternalError(absl::StrCat("the server sent a priority sum of ", facts.priority_sum(),
                                              " and a smallest probability of ", facts.min_probability()));
    }
    batch_.layout = layout_;
    batch_.bytes = pool_->Take();
    batch_.table_items = facts.table_items();
    batch_.priority_sum = facts.priority_sum();
    batch_.min_probability = facts.min_probability();
  }
  data.CopyTo(batch_.bytes.get() + received_);
  received_ += data.size();
  if (received_ < layout_->total_bytes) {
    return std::optional<SampledBatch>();
  }
  received_ = 0;
  return std::make_optional(std::exchange(batch_, SampledBatch()));
}

}  // namespace waggle
