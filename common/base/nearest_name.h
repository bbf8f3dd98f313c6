#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace waggle {

// "; did you mean \"x\"?" with the known name nearest to `name` by edit distance, or "" if none is near.
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& known);

}  // namespace waggle
