#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config_visitor.h"

namespace waggle {

// Prints the fields that it visits as YAML, with every value in it. Reading that gives the same values again, to the
// last bit. Not thread-safe.
class ConfigWriter final : public ConfigVisitor {
 public:
  void Int(const char* key, int64_t* value, int64_t minimum, int64_t maximum) override;
  void Double(const char* key, double* value, double minimum, double maximum) override;
  void OptionalDouble(const char* key, std::optional<double>* value, double minimum, double maximum) override;
  void Bool(const char* key, bool* value) override;
  void String(const char* key, std::string* value) override;
  void Choice(const char* key, std::string* value, const std::vector<std::string>& choices) override;
  void IntList(const char* key, std::vector<int64_t>* value, int64_t minimum, int64_t maximum) override;
  void AllowOtherKeys() override {}

  const std::string& text() const { return text_; }

 private:
  bool Reading() const override { return false; }
  bool BeginSection(const char* key) override;
  void EndSection(const absl::Status& validity) override;
  int64_t BeginList(const char* key, int64_t current_size) override;
  bool BeginElement(int64_t index) override;
  void EndList() override;

  void Line(const char* key, const std::string& value);

  std::string text_;
  int indent_ = 0;
  bool begins_element_ = false;  // The next line is an element's first.
};

}  // namespace waggle
