#include "common/config/live_fields.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/config/config_writer.h"
#include "common/config/scalar_text.h"

namespace waggle {

std::string LiveFields::PathOf(const char* key) const {
  return paths_.empty() ? key : absl::StrCat(paths_.back(), ".", key);
}

void LiveFields::Take(const char* key, const Range& range, std::string value) {
  if (range.live) {
    values_[PathOf(key)] = std::move(value);
  }
}

void LiveFields::TakeNumber(const char* key, const Range& range, double value, bool is_whole) {
  if (range.live) {
    numbers_[PathOf(key)] = {value, range, is_whole};
  }
}

void LiveFields::Int(const char* key, int64_t* value, const Range& range) {
  Take(key, range, absl::StrCat(*value));
  TakeNumber(key, range, static_cast<double>(*value), /*is_whole=*/true);
}

void LiveFields::Double(const char* key, double* value, const Range& range) {
  Take(key, range, NumberText(*value));
  TakeNumber(key, range, *value, /*is_whole=*/false);
}

void LiveFields::OptionalDouble(const char* key, std::optional<double>* value, const Range& range) {
  Take(key, range, value->has_value() ? NumberText(**value) : "null");
  if (value->has_value()) {
    TakeNumber(key, range, **value, /*is_whole=*/false);
  }
}

void LiveFields::OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) {
  Take(key, range, value->has_value() ? absl::StrCat(**value) : "null");
  if (value->has_value()) {
    TakeNumber(key, range, static_cast<double>(**value), /*is_whole=*/true);
  }
}

void LiveFields::Schedule(const char* key, waggle::Schedule* value, const Range& range) {
  ConfigWriter writer;
  writer.Schedule(key, value, range);
  // "KEY: NUMBER", or "KEY:" and a line for each of the schedule's keys.
  std::vector<std::string> lines = absl::StrSplit(writer.text(), '\n', absl::SkipEmpty());
  for (std::string& line : lines) {
    line = std::string(absl::StripAsciiWhitespace(line));
  }
  Take(key, range,
       value->moves() ? absl::StrCat("{", absl::StrJoin(lines.begin() + 1, lines.end(), ", "), "}")
                      : NumberText(value->from));
  if (!value->moves()) {
    TakeNumber(key, range, value->from, /*is_whole=*/false);
  }
}

bool LiveFields::BeginSection(const char* key) {
  paths_.push_back(PathOf(key));
  return true;
}

int64_t LiveFields::BeginList(const char* key, int64_t current_size) {
  paths_.push_back(PathOf(key));
  return current_size;
}

bool LiveFields::BeginElement(int64_t index) {
  paths_.push_back(absl::StrCat(paths_.back(), "[", index, "]"));
  return true;
}

}  // namespace waggle
