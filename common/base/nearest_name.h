#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace waggle {

// "; did you mean \"x\"?" with the known name nearest to `name` by edit distance, or "" where none is near. Completes a
// message about an unknown key, file name or flag value.
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& known);

}  // namespace waggle
