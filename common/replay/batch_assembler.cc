#include "common/replay/batch_assembler.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/tensor/checksum.h"
#include "common/base/tensor/compression.h"
#include "common/replay/replay_convert.h"

namespace waggle {
namespace {

constexpr uint64_t kMaxTableItems = uint64_t{1} << 32;  // Slots are numbered with 32 bits.

}  // namespace

BatchAssembler::BatchAssembler(LayoutOf layout_of, BufferPool* pool) : layout_of_(std::move(layout_of)), pool_(pool) {}

absl::Status BatchAssembler::Begin(const v1::BatchHeader& facts) {
  // These comparisons refuse NaN. `samples_allowed` may be infinite.
  if (!std::isfinite(facts.priority_sum()) || !(facts.priority_sum() >= 0) || !std::isfinite(facts.min_probability()) ||
      !(facts.min_probability() >= 0) || !(facts.samples_allowed() >= 0) || facts.table_items() > kMaxTableItems) {
    return absl::InternalError(absl::StrCat("the server sent a priority sum of ", facts.priority_sum(),
                                            ", a smallest probability of ", facts.min_probability(), ", ",
                                            facts.samples_allowed(), " samples allowed and ", facts.table_items(),
                                            " items"));
  }
  WAGGLE_ASSIGN_OR_RETURN(batch_.layout, layout_of_(facts.items()));
  batch_.table_items = facts.table_items();
  batch_.priority_sum = facts.priority_sum();
  batch_.min_probability = facts.min_probability();
  batch_.samples_allowed = facts.samples_allowed();
  batch_.table_incarnation = facts.table_incarnation();
  batch_.sampled_at = SteadyNow();
  return absl::OkStatus();
}

absl::Status BatchAssembler::Place(const v1::SampleResponse& header, const ByteSlices& data, size_t size) {
  char* const to = batch_.bytes.get() + received_;
  const absl::StatusOr<Codec> codec_or = FromProto(header.compression());
  if (!codec_or.ok()) {
    return absl::InternalError(absl::StrCat("the server sent a piece of a batch with ", codec_or.status().message()));
  }
  const Codec codec = *codec_or;
  if (codec == Codec::kNone) {
    data.CopyTo(to);
  }
  if (header.has_checksum()) {  // Bytes that were just written are still in the cache.
    const uint64_t checksum = codec == Codec::kNone ? Checksum(to, size) : Checksum(data);
    if (checksum != header.checksum()) {
      return absl::DataLossError(absl::StrCat("a piece of a batch was damaged on its way: its checksum is ", checksum,
                                              ", the server's was ", header.checksum()));
    }
  }
  return codec == Codec::kNone ? absl::OkStatus()
                               : Annotate(Decompress(codec, InOneRun(data).get(), data.size(), to, size),
                                          "a piece of a batch that the server compressed");
}

absl::StatusOr<std::optional<SampledBatch>> BatchAssembler::Add(const v1::SampleResponse& header,
                                                                const ByteSlices& data) {
  const bool begins = batch_.layout == nullptr;
  if (header.has_opened() || header.has_batch() != begins) {
    return absl::InternalError(begins ? "the server sent a piece of a batch that it has not begun"
                                      : "the server began a batch within another one");
  }
  if (begins) {
    WAGGLE_RETURN_IF_ERROR(Begin(header.batch()));
  }
  const size_t total = batch_.layout->total_bytes;
  const size_t size =
      header.compression() == v1::ColumnCompression::CODEC_UNSPECIFIED ? data.size() : header.uncompressed_bytes();
  if (header.data_offset() != received_ || (size == 0) != (total == 0) || size > total - received_) {
    if (begins) {
      batch_ = SampledBatch();
    }
    return absl::InternalError(absl::StrCat("the server sent ", size, " bytes at byte ", header.data_offset(),
                                            " of a batch; it has ", total, " bytes, and byte ", received_,
                                            " is the next"));
  }
  if (total == 0) {
    return std::make_optional(std::exchange(batch_, SampledBatch()));
  }
  if (begins) {
    batch_.bytes = pool_->Take();
  }
  WAGGLE_RETURN_IF_ERROR(Place(header, data, size));
  received_ += size;
  if (received_ < total) {
    return std::optional<SampledBatch>();
  }
  received_ = 0;
  return std::make_optional(std::exchange(batch_, SampledBatch()));
}

}  // namespace waggle
