#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// Parses a number of bytes: "4294967296", "512MiB", "4GiB" or "4G". K, M, G, T and KiB, MiB, GiB, TiB are powers of
// 1024. INVALID_ARGUMENT, with what was got and wanted, for all else: ambiguous KB, signs, fractions, spaces, overflow.
absl::StatusOr<int64_t> ParseByteSize(absl::string_view text);

}  // namespace waggle
