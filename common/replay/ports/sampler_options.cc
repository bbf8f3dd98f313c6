#include "common/replay/ports/sampler_options.h"

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::Status ValidateSamplerOptions(const ReplaySamplerOptions& options) {
  WAGGLE_RETURN_IF_ERROR(options.table.Validate());
  if (options.batch_size < 1 || options.batch_size > int64_t{1} << 31) {
    return absl::InvalidArgumentError(absl::StrCat("batch_size: got ", options.batch_size, "; wanted 1 to 2^31"));
  }
  if (options.prefetch < 0 || options.prefetch > kMaxOutstandingDraws) {
    return absl::InvalidArgumentError(absl::StrCat("prefetch: got ", options.prefetch, "; wanted 0 to ",
                                                   kMaxOutstandingDraws, ", the limit of a stream"));
  }
  if (!options.sampler_id.empty()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(options.sampler_id), "sampler_id"));
  }
  if (options.max_batch_bytes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_batch_bytes: got ", options.max_batch_bytes, "; wanted at least 1"));
  }
  return absl::OkStatus();
}

}  // namespace waggle
