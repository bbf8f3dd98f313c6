#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config_visitor.h"

namespace waggle::testing {

// Finds what options have for fields, by what their Visit says, and gives some of them values. A schedule counts as the
// number that it may be in its place.
class FieldWalk final : public ConfigVisitor {
 public:
  struct Number {
    Range range;
    bool is_whole = false;
    bool is_list = false;  // Of such numbers.
  };

  // While a walk is under way, these fields get these values.
  std::map<std::string, double> given_numbers;
  std::map<std::string, std::string> given_choices;

  // What there was, by path ("optimizer.beta1").
  std::map<std::string, Number> numbers;
  std::map<std::string, std::vector<std::string>> choices;

  void Int(const char* key, int64_t* value, const Range& range) override;
  void Double(const char* key, double* value, const Range& range) override;
  void OptionalDouble(const char* key, std::optional<double>* value, const Range& range) override;
  void OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) override;
  void Bool(const char* /*key*/, bool* /*value*/) override {}
  void String(const char* /*key*/, std::string* /*value*/) override {}
  void Choice(const char* key, std::string* value, const std::vector<std::string>& values) override;
  void IntList(const char* key, std::vector<int64_t>* value, const Range& range) override;
  void AllowOtherKeys() override {}

 private:
  // What is not given stays, so that a schedule that moves still does.
  bool Reading() const override { return giving_schedule_; }
  ScheduleForm FormOf(const char* key, bool moves) override;
  std::vector<std::string> EntryNames(std::vector<std::string> present) override { return present; }
  bool BeginSection(const char* key) override;
  void EndSection(const absl::Status& /*validity*/) override { paths_.pop_back(); }
  int64_t BeginList(const char* key, int64_t current_size) override;
  bool BeginElement(int64_t index) override;
  void EndList() override { paths_.pop_back(); }

  std::string PathOf(const char* key) const;
  // Records a number; whether it is given.
  bool RecordNumber(const char* key, const Number& number);

  std::vector<std::string> paths_;
  bool giving_schedule_ = false;
};

// Text that reads back as this value of the field, as an override has it.
std::string TextOf(const FieldWalk::Number& number, double value);

// The last values that a range holds, and the first that it does not, at those ends that it has.
struct RangeEnds {
  std::vector<double> inside;
  std::vector<double> outside;
};
RangeEnds EndsOf(const FieldWalk::Number& number);

}  // namespace waggle::testing
