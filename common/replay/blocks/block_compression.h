#pragma once

#include <vector>

#include "absl/status/status.h"
#include "common/config/table/table_config.h"
#include "common/replay/ports/replay.h"

namespace waggle {

std::vector<Codec> ColumnCodecs(const std::vector<ArraySpec>& signature,
                                const std::vector<ColumnCompression>& compression);

// Brings a caller's block into the form of the wire and the table, and fills in `compressed_bytes`: first the
// uncompressed columns, each with the rows of all chunks; then each of the others, chunk by chunk, compressed if that
// is shorter. INVALID_ARGUMENT if the size of `data` is not that of the chunks' rows.
absl::Status CompressBlock(const std::vector<ArraySpec>& signature, const std::vector<Codec>& codecs,
                           InsertBlock* block);

}  // namespace waggle
