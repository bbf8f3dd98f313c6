#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/config/config_visitor.h"

namespace waggle::testing {

// Finds the fields of options, by their Visit, and gives some of them values. A schedule counts as the number that can
// replace it.
class FieldWalk final : public ConfigVisitor {
 public:
  struct Number {
    Range range;
    bool is_whole = false;
    bool is_list = false;            // A list of such numbers.
    std::optional<double> own = {};  // Before the walk; absent for a list, and for an optional number that is absent.
  };
  struct Choices {
    std::vector<std::string> values;
    std::string own;
  };

  // The values that these fields get during a walk.
  std::map<std::string, double> given_numbers;
  std::map<std::string, std::string> given_choices;

  // The numbers found, by path ("optimizer.beta1").
  std::map<std::string, Number> numbers;
  std::map<std::string, Choices> choices;
  std::map<std::string, bool> flags;

  void Int(const char* key, int64_t* value, const Range& range) override;
  void Double(const char* key, double* value, const Range& range) override;
  void OptionalDouble(const char* key, std::optional<double>* value, const Range& range) override;
  void OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) override;
  void Bool(const char* key, bool* value) override { flags[PathOf(key)] = *value; }
  void String(const char* /*key*/, std::string* /*value*/) override {}
  void Choice(const char* key, std::string* value, const std::vector<std::string>& values) override;
  void IntList(const char* key, std::vector<int64_t>* value, const Range& range) override;
  void AllowOtherKeys() override {}

 private:
  // Fields without a given value keep theirs, so that a moving schedule still moves.
  bool Reading() const override { return giving_schedule_; }
  ScheduleForm FormOf(const char* key, bool moves) override;
  std::vector<std::string> EntryNames(std::vector<std::string> present) override { return present; }
  bool BeginSection(const char* key) override;
  void EndSection(const absl::Status& /*validity*/) override { paths_.pop_back(); }
  int64_t BeginList(const char* key, int64_t current_size) override;
  bool BeginElement(int64_t index) override;
  void EndList() override { paths_.pop_back(); }

  std::string PathOf(const char* key) const;
  // Records a number; true if it is given.
  bool RecordNumber(const char* key, const Number& number);

  std::vector<std::string> paths_;
  bool giving_schedule_ = false;
};

// The value of the field as text, as in an override.
std::string TextOf(const FieldWalk::Number& number, double value);

// The last values inside a range, and the first outside it, at its ends.
struct RangeEnds {
  std::vector<double> inside;
  std::vector<double> outside;
};
RangeEnds EndsOf(const FieldWalk::Number& number);

// Values that the found fields do not have, as overrides by path: every other choice, flags the other way round, and
// for each number one that is not far away, if its range has one.
std::vector<std::pair<std::string, std::string>> OtherValues(const FieldWalk& walk);

}  // namespace waggle::testing
