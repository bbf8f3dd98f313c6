#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/config/config_errors.h"
#include "common/config/config_visitor.h"
#include "common/config/yaml_node.h"

namespace waggle {

// The treatment of keys that mean nothing beside the others. A user's are refused as mistakes. Earlier versions printed
// every key: theirs are passed over.
enum class KeysWithoutMeaning { kRefused, kPassedOver };

// Reads a YAML mapping into the fields that it visits, strictly. Errors are an unknown key (named with the nearest
// known one, or with the section in which it is known), a key given twice, and a value of another type or out of range.
// A field whose value is wrong keeps its default. Not thread-safe.
//
//   ConfigErrors errors;
//   ConfigReader reader(root, &errors);
//   reader.Section("learner", &options.learner);
//   reader.Finish();
class ConfigReader final : public ConfigVisitor {
 public:
  // Both outlive the reader.
  ConfigReader(const YamlNode& root, ConfigErrors* errors,
               KeysWithoutMeaning without_meaning = KeysWithoutMeaning::kRefused);

  void Int(const char* key, int64_t* value, const Range& range) override;
  void Double(const char* key, double* value, const Range& range) override;
  void AnyValue(const char* key, std::string* json) override;
  void OptionalDouble(const char* key, std::optional<double>* value, const Range& range) override;
  void OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) override;
  void Bool(const char* key, bool* value) override;
  void String(const char* key, std::string* value) override;
  void CheckedString(const char* key, std::string* value, bool (*is_right)(const std::string&),
                     const char* wanted) override;
  void Choice(const char* key, std::string* value, const std::vector<std::string>& choices) override;
  void Points(const char* key, std::vector<waggle::Schedule::Point>* points, const Range& at,
              const Range& value) override;
  void IntList(const char* key, std::vector<int64_t>* value, const Range& range) override;
  void DoubleList(const char* key, std::vector<double>* value, const Range& range) override;
  void TextList(const char* key, std::vector<std::string>* value, bool (*is_right)(const std::string&),
                const char* wanted) override;
  bool Applies(const char* key, bool has_meaning, absl::string_view otherwise) override;
  void Renamed(const char* old_key, const char* key) override { frames_.back().renamed.emplace_back(old_key, key); }
  bool IsGiven(const char* key, bool is_given) override { return Lookup(key) != nullptr || is_given; }
  void AllowOtherKeys() override;

  // Reports the unused keys at the top. Call once, last.
  void Finish();

  // Reports a problem with the key at `path` ("replay.error_buffer"), at its place, or else at its section's.
  void Report(absl::string_view path, absl::string_view problem);

 private:
  bool Reading() const override { return true; }
  ScheduleForm FormOf(const char* key, bool moves) override;
  std::vector<std::string> EntryNames(std::vector<std::string> present) override;
  bool BeginSection(const char* key) override;
  void EndSection(const absl::Status& validity) override;
  int64_t BeginList(const char* key, int64_t current_size) override;
  bool BeginElement(int64_t index) override;
  void EndList() override;

  // A mapping or list that is being visited.
  struct Frame {
    const YamlNode* node = nullptr;  // Null if it is absent or of the wrong kind.
    SourcePosition position;         // The node's, or the nearest one's around it.
    std::string path;
    std::vector<std::string> known;                            // Keys asked for.
    std::vector<std::string> inner;                            // Keys asked for in its sections, "section.key".
    std::vector<std::pair<std::string, std::string>> renamed;  // Earlier names of keys, and the present ones.
    bool allow_other_keys = false;
    bool has_wrong_choice = false;  // A Choice in it was wrong.
    int64_t errors_before = 0;
  };

  std::string PathOf(absl::string_view key) const;
  // The value under `key`, or null if it is absent.
  const YamlNode* Lookup(const char* key);
  // The same, but a value that is not a list is reported, and null.
  const YamlNode* LookupList(const char* key, absl::string_view wanted);
  // The same for text.
  const YamlNode* LookupText(const char* key);
  void Wrong(const YamlNode& node, const char* key, absl::string_view wanted);
  void ReadNumber(const YamlNode& node, const char* key, double* value, const Range& range);
  // A suggestion for an unknown key, "; did you mean …", or nothing.
  std::string HintFor(const std::string& key) const;
  void ReportUnknownKeys();
  void PushFrame(const YamlNode* node, std::string path);

  const YamlNode& root_;
  ConfigErrors* const errors_;
  const KeysWithoutMeaning without_meaning_;
  std::vector<Frame> frames_;
};

}  // namespace waggle
