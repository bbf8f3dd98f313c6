#include "common/replay/ports/writer_options.h"

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::Status ValidateWriterOptions(const ReplayWriterOptions& options) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(options.writer_id), "writer_id"));
  if (options.tables.empty()) {
    return absl::InvalidArgumentError("tables: got none; wanted at least one");
  }
  if (options.signature.empty()) {
    return absl::InvalidArgumentError("signature: got no column; wanted at least one");
  }
  for (const ArraySpec& column : options.signature) {
    WAGGLE_RETURN_IF_ERROR(Annotate(column.Validate(), "signature"));
  }
  if (options.max_unacknowledged_blocks < 1 || options.max_unacknowledged_bytes < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_unacknowledged_blocks and max_unacknowledged_bytes: wanted at least 1; got ",
                     options.max_unacknowledged_blocks, " and ", options.max_unacknowledged_bytes));
  }
  return absl::OkStatus();
}

}  // namespace waggle
