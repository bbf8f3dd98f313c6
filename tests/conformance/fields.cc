#include "tests/conformance/fields.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/config/scalar_text.h"

namespace waggle::testing {
namespace {

// Above it some whole numbers are not doubles.
constexpr double kLargestWhole = 9007199254740992.0;

// Another number of the range than its own, if one of the tried numbers is.
std::optional<double> OtherNumber(const FieldWalk::Number& number) {
  const double own = number.own.value_or(0);
  const std::vector<double> tried =
      number.is_whole ? std::vector<double>{own + 2, own - 1} : std::vector<double>{own / 2, 0.5, number.range.high};
  for (const double other : tried) {
    if (number.range.Holds(other) && other != number.own) {
      return other;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string FieldWalk::PathOf(const char* key) const {
  return paths_.empty() ? key : absl::StrCat(paths_.back(), ".", key);
}

bool FieldWalk::RecordNumber(const char* key, const Number& number) {
  numbers[PathOf(key)] = number;
  return given_numbers.count(PathOf(key)) > 0;
}

void FieldWalk::Int(const char* key, int64_t* value, const Range& range) {
  if (RecordNumber(key, {range, /*is_whole=*/true, /*is_list=*/false, static_cast<double>(*value)})) {
    *value = static_cast<int64_t>(given_numbers.at(PathOf(key)));
  }
}

void FieldWalk::Double(const char* key, double* value, const Range& range) {
  if (RecordNumber(key, {range, /*is_whole=*/false, /*is_list=*/false, *value})) {
    *value = given_numbers.at(PathOf(key));
  }
}

void FieldWalk::OptionalDouble(const char* key, std::optional<double>* value, const Range& range) {
  if (RecordNumber(key, {range, /*is_whole=*/false, /*is_list=*/false, *value})) {
    *value = given_numbers.at(PathOf(key));
  }
}

void FieldWalk::OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) {
  std::optional<double> own;
  if (value->has_value()) {
    own = static_cast<double>(**value);
  }
  if (RecordNumber(key, {range, /*is_whole=*/true, /*is_list=*/false, own})) {
    *value = static_cast<int64_t>(given_numbers.at(PathOf(key)));
  }
}

void FieldWalk::Choice(const char* key, std::string* value, const std::vector<std::string>& values) {
  choices[PathOf(key)] = {values, *value};
  const auto given = given_choices.find(PathOf(key));
  if (given != given_choices.end()) {
    *value = given->second;
  }
}

void FieldWalk::IntList(const char* key, std::vector<int64_t>* value, const Range& range) {
  if (RecordNumber(key, {range, /*is_whole=*/true, /*is_list=*/true})) {
    *value = {static_cast<int64_t>(given_numbers.at(PathOf(key)))};
  }
}

ConfigVisitor::ScheduleForm FieldWalk::FormOf(const char* key, bool /*moves*/) {
  giving_schedule_ = given_numbers.count(PathOf(key)) > 0;
  return ScheduleForm::kNumber;
}

bool FieldWalk::BeginSection(const char* key) {
  paths_.push_back(PathOf(key));
  return true;
}

int64_t FieldWalk::BeginList(const char* key, int64_t current_size) {
  giving_schedule_ = false;
  paths_.push_back(PathOf(key));
  return current_size;
}

bool FieldWalk::BeginElement(int64_t index) {
  paths_.push_back(absl::StrCat(paths_.back(), "[", index, "]"));
  return true;
}

std::string TextOf(const FieldWalk::Number& number, double value) {
  const std::string text = number.is_whole ? absl::StrCat(static_cast<int64_t>(value)) : NumberText(value);
  return number.is_list ? absl::StrCat("[", text, "]") : text;
}

RangeEnds EndsOf(const FieldWalk::Number& number) {
  const Range& range = number.range;
  const auto next = [&](double from, double direction) {
    return number.is_whole ? from + direction
           : from == 0     ? direction * std::numeric_limits<double>::min()  // Not a subnormal number.
                           : std::nextafter(from, direction * std::numeric_limits<double>::infinity());
  };
  RangeEnds ends;
  const double largest = number.is_whole ? kLargestWhole : std::numeric_limits<double>::max();
  if (std::abs(range.low) < largest) {
    ends.inside.push_back(range.above ? next(range.low, 1) : range.low);
    ends.outside.push_back(range.above ? range.low : next(range.low, -1));
  }
  if (std::abs(range.high) < largest) {
    ends.inside.push_back(range.high);
    ends.outside.push_back(next(range.high, 1));
  }
  return ends;
}

std::vector<std::pair<std::string, std::string>> OtherValues(const FieldWalk& walk) {
  std::vector<std::pair<std::string, std::string>> others;
  for (const auto& [path, choices] : walk.choices) {
    for (const std::string& value : choices.values) {
      if (value != choices.own) {
        others.emplace_back(path, value);
      }
    }
  }
  for (const auto& [path, flag] : walk.flags) {
    others.emplace_back(path, flag ? "false" : "true");
  }
  for (const auto& [path, number] : walk.numbers) {
    const std::optional<double> other = number.is_list ? std::nullopt : OtherNumber(number);
    if (other.has_value()) {
      others.emplace_back(path, TextOf(number, *other));
    }
  }
  return others;
}

}  // namespace waggle::testing
