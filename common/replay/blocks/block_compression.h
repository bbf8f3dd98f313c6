#pragma once

#include <vector>

#include "absl/status/status.h"
#include "common/config/table/table_config.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// The codec of each column of the signature.
std::vector<Codec> ColumnCodecs(const std::vector<ArraySpec>& signature,
                                const std::vector<ColumnCompression>& compression);

// Puts the rows of a block from a caller into the form in which they travel and are kept, and fills in
// `compressed_bytes`: first the columns that are not compressed, each with the rows of all chunks; then for each of the
// others, chunk by chunk, its rows, compressed if that is shorter. INVALID_ARGUMENT if `data` has another size than the
// chunks' rows.
absl::Status CompressBlock(const std::vector<ArraySpec>& signature, const std::vector<Codec>& codecs,
                           InsertBlock* block);

}  // namespace waggle
