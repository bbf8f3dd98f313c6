#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace waggle {

// Parses whole numbers exactly: "12", "1e9", "1.5e3" (1500), "-2.0". Null for "1.5", "1e-3", overflow and other text.
std::optional<int64_t> ParseWholeNumber(absl::string_view text);

}  // namespace waggle
