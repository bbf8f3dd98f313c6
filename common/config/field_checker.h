#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/base/problems.h"
#include "common/config/config_visitor.h"

namespace waggle {

// Checks the fields that it visits against their Visit(), with a reader's messages. Not thread-safe.
class FieldChecker final : public ConfigVisitor {
 public:
  void Int(const char* key, int64_t* value, const Range& range) override;
  void Double(const char* key, double* value, const Range& range) override;
  void OptionalDouble(const char* key, std::optional<double>* value, const Range& range) override;
  void OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) override;
  void Bool(const char* /*key*/, bool* /*value*/) override {}
  void String(const char* /*key*/, std::string* /*value*/) override {}
  void CheckedString(const char* key, std::string* value, bool (*is_right)(const std::string&),
                     const char* wanted) override;
  void Choice(const char* key, std::string* value, const std::vector<std::string>& choices) override;
  void Points(const char* key, std::vector<waggle::Schedule::Point>* points, const Range& at,
              const Range& value) override;
  void IntList(const char* key, std::vector<int64_t>* value, const Range& range) override;
  void DoubleList(const char* key, std::vector<double>* value, const Range& range) override;
  void AllowOtherKeys() override {}

  // INVALID_ARGUMENT with one problem a line, each behind its key ("optimizer.epsilon: …"); OK if there is none.
  absl::Status status() const { return problems_.ToStatus(); }

 private:
  bool Reading() const override { return false; }
  ScheduleForm FormOf(const char* /*key*/, bool moves) override {
    return moves ? ScheduleForm::kSection : ScheduleForm::kNumber;
  }
  std::vector<std::string> EntryNames(std::vector<std::string> present) override { return present; }
  bool BeginSection(const char* key) override;
  void EndSection(const absl::Status& validity) override;
  int64_t BeginList(const char* key, int64_t current_size) override;
  bool BeginElement(int64_t index) override;
  void EndList() override;

  std::string PathOf(const std::string& key) const;
  void Wrong(const std::string& key, const std::string& got, const std::string& wanted);

  std::vector<std::string> paths_;  // The sections being visited, outermost first.
  std::vector<bool> right_so_far_;  // For each of them: true if none of its fields was wrong.
  Problems problems_;
};

// Checks options by themselves: their fields' ranges, and then Validate(). By value, because one Visit for reading and
// checking cannot be const. INVALID_ARGUMENT as FieldChecker::status.
template <class Options>
absl::Status Check(Options options) {
  FieldChecker checker;
  options.Visit(checker);
  return checker.status().ok() ? options.Validate() : checker.status();
}

}  // namespace waggle
