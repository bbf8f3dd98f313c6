#include "common/config/field_checker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/nearest_name.h"
#include "common/config/scalar_text.h"

namespace waggle {
namespace {

std::string NumberGot(const std::string& text) {
  return absl::StrCat("the number ", text);
}

}  // namespace

std::string FieldChecker::PathOf(const std::string& key) const {
  return paths_.empty() ? key : absl::StrCat(paths_.back(), ".", key);
}

void FieldChecker::Wrong(const std::string& key, const std::string& got, const std::string& wanted) {
  problems_.Add(PathOf(key), ": got ", got, "; wanted ", wanted);
  std::fill(right_so_far_.begin(), right_so_far_.end(), false);
}

void FieldChecker::Int(const char* key, int64_t* value, const Range& range) {
  if (!range.Holds(static_cast<double>(*value))) {
    Wrong(key, NumberGot(absl::StrCat(*value)), range.IntegerText());
  }
}

void FieldChecker::Double(const char* key, double* value, const Range& range) {
  if (!std::isfinite(*value) || !range.Holds(*value)) {
    Wrong(key, NumberGot(std::isfinite(*value) ? NumberText(*value) : absl::StrCat(*value)), range.NumberText());
  }
}

void FieldChecker::OptionalDouble(const char* key, std::optional<double>* value, const Range& range) {
  if (value->has_value()) {
    Double(key, &**value, range);
  }
}

void FieldChecker::OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) {
  if (value->has_value()) {
    Int(key, &**value, range);
  }
}

void FieldChecker::CheckedString(const char* key, std::string* value, bool (*is_right)(const std::string&),
                                 const char* wanted) {
  if (!is_right(*value)) {
    Wrong(key, absl::StrCat("\"", *value, "\""), wanted);
  }
}

void FieldChecker::Choice(const char* key, std::string* value, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), *value) == choices.end()) {
    Wrong(
        key, absl::StrCat("\"", *value, "\""),
        absl::StrCat(choices.size() == 1 ? "" : "one of ", absl::StrJoin(choices, ", "), DidYouMean(*value, choices)));
  }
}

void FieldChecker::IntList(const char* key, std::vector<int64_t>* value, const Range& range) {
  for (size_t i = 0; i < value->size(); ++i) {
    Int(absl::StrCat(key, "[", i, "]").c_str(), &(*value)[i], range);
  }
}

void FieldChecker::DoubleList(const char* key, std::vector<double>* value, const Range& range) {
  for (size_t i = 0; i < value->size(); ++i) {
    Double(absl::StrCat(key, "[", i, "]").c_str(), &(*value)[i], range);
  }
}

void FieldChecker::Points(const char* key, std::vector<waggle::Schedule::Point>* points, const Range& at,
                          const Range& value) {
  for (size_t i = 0; i < points->size(); ++i) {
    Double(absl::StrCat(key, "[", i, "][0]").c_str(), &(*points)[i].at, at);
    Double(absl::StrCat(key, "[", i, "][1]").c_str(), &(*points)[i].value, value);
  }
}

bool FieldChecker::BeginSection(const char* key) {
  paths_.push_back(PathOf(key));
  right_so_far_.push_back(true);
  return true;
}

void FieldChecker::EndSection(const absl::Status& validity) {
  const std::string path = paths_.back();
  const bool right = right_so_far_.back();
  paths_.pop_back();
  right_so_far_.pop_back();
  // If a field is wrong by itself, Validate's message does not help.
  if (right && !validity.ok()) {
    for (const absl::string_view line : absl::StrSplit(validity.message(), '\n')) {
      problems_.Add(path, ".", line);
    }
    std::fill(right_so_far_.begin(), right_so_far_.end(), false);
  }
}

int64_t FieldChecker::BeginList(const char* key, int64_t current_size) {
  paths_.push_back(PathOf(key));
  return current_size;
}

bool FieldChecker::BeginElement(int64_t index) {
  paths_.push_back(absl::StrCat(paths_.back(), "[", index, "]"));
  right_so_far_.push_back(true);
  return true;
}

void FieldChecker::EndList() {
  paths_.pop_back();
}

}  // namespace waggle
