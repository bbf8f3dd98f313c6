#include "common/config/config_errors.h"

#include <algorithm>
#include <climits>

#include "absl/strings/str_cat.h"

namespace waggle {

void ConfigErrors::Add(const SourcePosition& position, absl::string_view path, absl::string_view problem) {
  errors_.push_back({position, std::string(path), std::string(problem)});
}

std::set<std::string> ConfigErrors::sections() const {
  std::set<std::string> sections;
  for (const Error& error : errors_) {
    sections.insert(error.path.substr(0, error.path.find_first_of(".[")));
  }
  return sections;
}

absl::Status ConfigErrors::ToStatus() const {
  if (errors_.empty()) {
    return absl::OkStatus();
  }
  std::vector<Error> sorted = errors_;
  const auto rank = [](const Error& error) { return error.position.line > 0 ? error.position.line : INT_MAX; };
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Error& a, const Error& b) { return rank(a) < rank(b); });
  std::string lines;
  for (const Error& error : sorted) {
    absl::StrAppend(&lines, lines.empty() ? "" : "\n", error.position.DebugString(), ": ", error.path,
                    error.path.empty() ? "" : ": ", error.problem);
  }
  return absl::InvalidArgumentError(lines);
}

}  // namespace waggle
