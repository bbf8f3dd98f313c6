#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace waggle {

// A number of bytes as people write it: "4294967296", "512MiB", "4GiB" or "4G". K, M, G, T and KiB, MiB, GiB, TiB are
// powers of 1024; KB and the like, which mean 1000 to some, are not taken. INVALID_ARGUMENT, saying what was got and
// what was wanted, for anything else: signs, fractions, spaces, and more than an int64_t holds.
absl::StatusOr<int64_t> ParseByteSize(absl::string_view text);

}  // namespace waggle
