#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/config/config_visitor.h"

namespace waggle {

// Lists the keys that it visits, by their paths: "learner.batch_size". A list or map of structs is one key.
class ConfigKeys final : public ConfigVisitor {
 public:
  void Int(const char* key, int64_t* value, const Range& range) override;
  void Double(const char* key, double* value, const Range& range) override;
  void OptionalDouble(const char* key, std::optional<double>* value, const Range& range) override;
  void OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) override;
  void Bool(const char* key, bool* value) override;
  void String(const char* key, std::string* value) override;
  void Choice(const char* key, std::string* value, const std::vector<std::string>& choices) override;
  void IntList(const char* key, std::vector<int64_t>* value, const Range& range) override;
  bool Applies(const char* /*key*/, bool /*has_meaning*/, absl::string_view /*otherwise*/) override { return true; }
  bool IsGiven(const char* /*key*/, bool /*is_given*/) override { return true; }
  void AllowOtherKeys() override {}

  // In the order of the visit.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  bool Reading() const override { return false; }
  // A schedule is one key in every form, and the user's names are not known.
  ScheduleForm FormOf(const char* /*key*/, bool /*moves*/) override { return ScheduleForm::kNumber; }
  std::vector<std::string> EntryNames(std::vector<std::string> /*present*/) override { return {}; }
  bool BeginSection(const char* key) override;
  void EndSection(const absl::Status& validity) override;
  int64_t BeginList(const char* key, int64_t current_size) override;
  bool BeginElement(int64_t index) override;
  void EndList() override {}

  void Add(const char* key);

  std::vector<std::string> sections_;  // The sections being visited, outermost first.
  std::vector<std::string> paths_;
};

}  // namespace waggle
