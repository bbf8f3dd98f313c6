#include "cli/experiments/sweep.h"

#include <cstddef>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "common/config/yaml_file.h"

namespace waggle {
namespace {

constexpr char kSeedKey[] = "experiment.seed";

// The parts between the commas that are in no brackets, braces or quotes.
std::vector<std::string> SplitValues(const std::string& text) {
  std::vector<std::string> values = {""};
  int64_t depth = 0;
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth <= 0) {
      values.emplace_back();
      continue;
    }
    values.back() += c;
  }
  for (std::string& value : values) {
    value = std::string(absl::StripAsciiWhitespace(value));
  }
  return values;
}

absl::Status CheckValues(const SweepAxis& axis) {
  std::set<std::string> seen;
  for (const std::string& value : axis.values) {
    if (value.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(axis.key, ": got an empty value; wanted VALUE,VALUE"));
    }
    if (!seen.insert(value).second) {
      return absl::InvalidArgumentError(absl::StrCat(axis.key, ": got ", value, " twice; wanted each value once"));
    }
  }
  return absl::OkStatus();
}

absl::Status TooMany(const std::string& count) {
  return absl::InvalidArgumentError(
      absl::StrCat("the group: got ", count, " experiments; wanted at most ", kMostSweptExperiments));
}

}  // namespace

absl::StatusOr<SweepAxis> ParseSweepAxis(const std::string& text) {
  WAGGLE_ASSIGN_OR_RETURN(const auto parts, ParseOverride(text));
  SweepAxis axis = {parts.first, SplitValues(parts.second)};
  WAGGLE_RETURN_IF_ERROR(CheckValues(axis));
  return axis;
}

absl::StatusOr<SweepAxis> ParseSeeds(const std::string& text) {
  SweepAxis axis = {kSeedKey, {}};
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<std::string> ends = absl::StrSplit(part, '-');
    int64_t first = 0;
    int64_t last = 0;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) || !absl::SimpleAtoi(ends.back(), &last) ||
        first < 0 || last < first) {
      return absl::InvalidArgumentError(
          absl::StrCat("--seeds: got \"", text, "\"; wanted numbers and ranges of them, such as 1-5 or 1,2,7"));
    }
    if (last - first >= static_cast<int64_t>(kMostSweptExperiments)) {
      return TooMany(absl::StrCat(last - first + 1));
    }
    for (int64_t i = 0; i <= last - first; ++i) {  // `last` may be the largest number.
      axis.values.push_back(absl::StrCat(first + i));
    }
  }
  WAGGLE_RETURN_IF_ERROR(CheckValues(axis));
  return axis;
}

absl::StatusOr<std::vector<SweepValues>> CombineAxes(const std::vector<SweepAxis>& axes) {
  std::vector<SweepValues> combined;
  std::set<std::string> keys;
  for (const SweepAxis& axis : axes) {
    if (!keys.insert(axis.key).second) {
      return absl::InvalidArgumentError(absl::StrCat(axis.key, ": got two sweeps; wanted one"));
    }
    const std::vector<SweepValues> before = combined.empty() ? std::vector<SweepValues>(1) : std::move(combined);
    if (before.size() * axis.values.size() > kMostSweptExperiments) {
      return TooMany(absl::StrCat(before.size() * axis.values.size()));
    }
    combined.clear();
    for (const SweepValues& values : before) {
      for (const std::string& value : axis.values) {
        combined.push_back(values);
        combined.back().emplace_back(axis.key, value);
      }
    }
  }
  return combined;
}

}  // namespace waggle
