#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace waggle {

// A whole number as people write it, also a large one: "12", "1e9", "1.5e3", which is 1500, "-2.0". Exact to the last
// digit. Nothing for "1.5" and "1e-3", for what does not fit, and for any other text.
std::optional<int64_t> ParseWholeNumber(absl::string_view text);

}  // namespace waggle
