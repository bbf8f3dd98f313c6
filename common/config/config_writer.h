#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config_visitor.h"

namespace waggle {

// Prints the fields that it visits as YAML, with every value. Reading it gives the same values again, to the last bit.
// Not thread-safe.
class ConfigWriter final : public ConfigVisitor {
 public:
  void Int(const char* key, int64_t* value, const Range& range) override;
  void Double(const char* key, double* value, const Range& range) override;
  void AnyValue(const char* key, std::string* json) override { Line(key, *json); }  // JSON is YAML too.
  void OptionalDouble(const char* key, std::optional<double>* value, const Range& range) override;
  void OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) override;
  void Bool(const char* key, bool* value) override;
  void String(const char* key, std::string* value) override;
  void Choice(const char* key, std::string* value, const std::vector<std::string>& choices) override;
  void Points(const char* key, std::vector<waggle::Schedule::Point>* points, const Range& at,
              const Range& value) override;
  void IntList(const char* key, std::vector<int64_t>* value, const Range& range) override;
  void DoubleList(const char* key, std::vector<double>* value, const Range& range) override;
  void TextList(const char* key, std::vector<std::string>* value, bool (*is_right)(const std::string&),
                const char* wanted) override;
  void AllowOtherKeys() override {}

  const std::string& text() const { return text_; }

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

  void Line(const char* key, const std::string& value);

  std::string text_;
  int indent_ = 0;
  std::vector<size_t> begins_;   // Offsets of the first lines of the sections and elements being visited.
  bool begins_element_ = false;  // The next line is an element's first.
};

}  // namespace waggle
