#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config_visitor.h"

namespace waggle {

// Finds the numbers and schedules, among the fields that it visits, that may be set while an experiment runs
// (Range::Live). Not thread-safe.
class LiveFields final : public ConfigVisitor {
 public:
  // The values by path ("optimizer.learning_rate"), as YAML on one line.
  const std::map<std::string, std::string>& values() const { return values_; }

  struct Number {
    double value = 0;
    Range range;
    bool is_whole = false;  // An integer.
  };
  // Those of them that are numbers now, and neither absent nor schedules that move.
  const std::map<std::string, Number>& numbers() const { return numbers_; }

  void Int(const char* key, int64_t* value, const Range& range) override;
  void Double(const char* key, double* value, const Range& range) override;
  void OptionalDouble(const char* key, std::optional<double>* value, const Range& range) override;
  void OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) override;
  void Schedule(const char* key, waggle::Schedule* value, const Range& range) override;
  void Bool(const char* /*key*/, bool* /*value*/) override {}
  void String(const char* /*key*/, std::string* /*value*/) override {}
  void Choice(const char* /*key*/, std::string* /*value*/, const std::vector<std::string>& /*choices*/) override {}
  void IntList(const char* /*key*/, std::vector<int64_t>* /*value*/, const Range& /*range*/) override {}
  void AllowOtherKeys() override {}

 private:
  bool Reading() const override { return false; }
  ScheduleForm FormOf(const char* /*key*/, bool /*moves*/) override { return ScheduleForm::kNumber; }
  std::vector<std::string> EntryNames(std::vector<std::string> present) override { return present; }
  bool BeginSection(const char* key) override;
  void EndSection(const absl::Status& /*validity*/) override { paths_.pop_back(); }
  int64_t BeginList(const char* key, int64_t current_size) override;
  bool BeginElement(int64_t index) override;
  void EndList() override { paths_.pop_back(); }

  std::string PathOf(const char* key) const;
  void Take(const char* key, const Range& range, std::string value);
  void TakeNumber(const char* key, const Range& range, double value, bool is_whole);

  std::vector<std::string> paths_;  // The sections and lists being visited, outermost first.
  std::map<std::string, std::string> values_;
  std::map<std::string, Number> numbers_;
};

}  // namespace waggle
