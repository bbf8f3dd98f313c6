#include "common/config/config_reader.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/nearest_name.h"
#include "common/config/scalar_text.h"
#include "common/config/yaml_values.h"

namespace waggle {

ConfigReader::ConfigReader(const YamlNode& root, ConfigErrors* errors, KeysWithoutMeaning without_meaning)
    : root_(root), errors_(errors), without_meaning_(without_meaning) {
  frames_.emplace_back();
  frames_.back().position = root.position;
  if (root.kind == YamlNode::Kind::kMapping) {
    frames_.back().node = &root;
  } else {
    errors_->Add(root.position, "", absl::StrCat("got ", Describe(root), "; wanted a mapping of sections"));
  }
}

std::string ConfigReader::PathOf(absl::string_view key) const {
  const std::string& path = frames_.back().path;
  return absl::StrCat(path, path.empty() ? "" : ".", key);
}

const YamlNode* ConfigReader::Lookup(const char* key) {
  Frame& frame = frames_.back();
  // A schedule is looked up once to see how it is written.
  if (frame.known.empty() || frame.known.back() != key) {
    frame.known.push_back(key);
  }
  const YamlEntry* entry = frame.node == nullptr ? nullptr : frame.node->Find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

void ConfigReader::Wrong(const YamlNode& node, const char* key, absl::string_view wanted) {
  errors_->Add(node.position, PathOf(key), absl::StrCat("got ", Describe(node), "; wanted ", wanted));
}

void ConfigReader::Int(const char* key, int64_t* value, const Range& range) {
  const YamlNode* node = Lookup(key);
  if (node != nullptr && !ParseInteger(*node, range, value)) {
    Wrong(*node, key, range.IntegerText());
  }
}

void ConfigReader::ReadNumber(const YamlNode& node, const char* key, double* value, const Range& range) {
  double parsed = 0;
  // "1e999" parses to infinity.
  if (!IsNumber(node) || !absl::SimpleAtod(node.text, &parsed) || !std::isfinite(parsed) || !range.Holds(parsed)) {
    Wrong(node, key, range.NumberText());
    return;
  }
  *value = parsed;
}

void ConfigReader::Double(const char* key, double* value, const Range& range) {
  if (const YamlNode* node = Lookup(key)) {
    ReadNumber(*node, key, value, range);
  }
}

void ConfigReader::AnyValue(const char* key, std::string* json) {
  if (const YamlNode* node = Lookup(key)) {
    nlohmann::ordered_json value = nlohmann::ordered_json::parse(*json, nullptr, /*allow_exceptions=*/false);
    nlohmann::ordered_json given = YamlToJson(*node, [&](const YamlEntry& twice) {
      errors_->Add(twice.position, PathOf(key), absl::StrCat("has the key ", twice.key, " twice"));
    });
    if (value.is_object() && given.is_object()) {
      value.update(given);
    } else {
      value = std::move(given);
    }
    // Invalid UTF-8 is replaced: JSON has none.
    *json = value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }
}

void ConfigReader::OptionalDouble(const char* key, std::optional<double>* value, const Range& range) {
  const YamlNode* node = Lookup(key);
  if (node == nullptr) {
    return;
  }
  if (node->kind == YamlNode::Kind::kNull) {
    value->reset();
    return;
  }
  const int64_t errors_before = errors_->count();
  double parsed = 0;
  ReadNumber(*node, key, &parsed, range);
  if (errors_->count() == errors_before) {
    *value = parsed;
  }
}

void ConfigReader::OptionalInt(const char* key, std::optional<int64_t>* value, const Range& range) {
  const YamlNode* node = Lookup(key);
  if (node == nullptr) {
    return;
  }
  int64_t parsed = 0;
  if (node->kind == YamlNode::Kind::kNull) {
    value->reset();
  } else if (ParseInteger(*node, range, &parsed)) {
    *value = parsed;
  } else {
    Wrong(*node, key, range.IntegerText());
  }
}

void ConfigReader::Bool(const char* key, bool* value) {
  const YamlNode* node = Lookup(key);
  if (node == nullptr) {
    return;
  }
  if (!IsPlainScalar(*node, ScalarType::kBool)) {
    Wrong(*node, key, "true or false");
    return;
  }
  *value = node->text == "true" || node->text == "True" || node->text == "TRUE";
}

const YamlNode* ConfigReader::LookupText(const char* key) {
  const YamlNode* node = Lookup(key);
  if (node != nullptr && !IsText(*node)) {
    // Otherwise "name: 1.10" would silently become another name once a program has read and written it.
    Wrong(*node, key, node->kind == YamlNode::Kind::kScalar ? "text; put it in quotes if it is meant" : "text");
    return nullptr;
  }
  return node;
}

void ConfigReader::String(const char* key, std::string* value) {
  if (const YamlNode* node = LookupText(key)) {
    *value = node->text;
  }
}

void ConfigReader::CheckedString(const char* key, std::string* value, bool (*is_right)(const std::string&),
                                 const char* wanted) {
  const YamlNode* node = LookupText(key);
  if (node != nullptr && !is_right(node->text)) {
    Wrong(*node, key, wanted);
  } else if (node != nullptr) {
    *value = node->text;
  }
}

void ConfigReader::Choice(const char* key, std::string* value, const std::vector<std::string>& choices) {
  const YamlNode* node = Lookup(key);
  const std::string wanted = absl::StrCat(choices.size() == 1 ? "" : "one of ", absl::StrJoin(choices, ", "));
  if (node == nullptr) {
    if (std::find(choices.begin(), choices.end(), *value) == choices.end()) {
      errors_->Add(frames_.back().position, PathOf(key), absl::StrCat("is missing; wanted ", wanted));
    }
  } else if (node->kind == YamlNode::Kind::kScalar &&
             std::find(choices.begin(), choices.end(), node->text) != choices.end()) {
    *value = node->text;  // `true` without quotes is the choice "true" too.
  } else {
    Wrong(*node, key, absl::StrCat(wanted, IsText(*node) ? DidYouMean(node->text, choices) : ""));
    frames_.back().has_wrong_choice = true;
  }
}

const YamlNode* ConfigReader::LookupList(const char* key, absl::string_view wanted) {
  const YamlNode* node = Lookup(key);
  if (node != nullptr && node->kind != YamlNode::Kind::kList) {
    Wrong(*node, key, wanted);
    return nullptr;
  }
  return node;
}

void ConfigReader::IntList(const char* key, std::vector<int64_t>* value, const Range& range) {
  const YamlNode* node = LookupList(key, absl::StrCat("a list, such as [64, 64], each ", range.IntegerText()));
  if (node == nullptr) {
    return;
  }
  std::vector<int64_t> parsed;
  for (size_t i = 0; i < node->items.size(); ++i) {
    if (ParseInteger(node->items[i], range, &parsed.emplace_back())) {
      continue;
    }
    const std::string element = absl::StrCat(key, "[", i, "]");
    Wrong(node->items[i], element.c_str(), range.IntegerText());
  }
  *value = std::move(parsed);
}

void ConfigReader::DoubleList(const char* key, std::vector<double>* value, const Range& range) {
  const YamlNode* node = LookupList(key, absl::StrCat("a list, each ", range.NumberText()));
  if (node == nullptr) {
    return;
  }
  std::vector<double> parsed;
  for (size_t i = 0; i < node->items.size(); ++i) {
    ReadNumber(node->items[i], absl::StrCat(key, "[", i, "]").c_str(), &parsed.emplace_back(), range);
  }
  *value = std::move(parsed);
}

void ConfigReader::TextList(const char* key, std::vector<std::string>* value, bool (*is_right)(const std::string&),
                            const char* wanted) {
  const YamlNode* node = LookupList(key, absl::StrCat("a list, each ", wanted));
  if (node == nullptr) {
    return;
  }
  std::vector<std::string> parsed;
  for (size_t i = 0; i < node->items.size(); ++i) {
    if (IsText(node->items[i]) && is_right(node->items[i].text)) {
      parsed.push_back(node->items[i].text);
      continue;
    }
    const std::string element = absl::StrCat(key, "[", i, "]");
    Wrong(node->items[i], element.c_str(), wanted);
  }
  *value = std::move(parsed);
}

void ConfigReader::Points(const char* key, std::vector<waggle::Schedule::Point>* points, const Range& at,
                          const Range& value) {
  const YamlNode* node = LookupList(key, "a list of [CLOCK, VALUE]");
  if (node == nullptr) {
    return;
  }
  points->assign(node->items.size(), {});
  for (size_t i = 0; i < node->items.size(); ++i) {
    const YamlNode& pair = node->items[i];
    const std::string element = absl::StrCat(key, "[", i, "]");
    if (pair.kind != YamlNode::Kind::kList || pair.items.size() != 2) {
      Wrong(pair, element.c_str(), "two numbers, [CLOCK, VALUE]");
      continue;
    }
    ReadNumber(pair.items[0], absl::StrCat(element, "[0]").c_str(), &(*points)[i].at, at);
    ReadNumber(pair.items[1], absl::StrCat(element, "[1]").c_str(), &(*points)[i].value, value);
  }
}

ConfigVisitor::ScheduleForm ConfigReader::FormOf(const char* key, bool /*moves*/) {
  const YamlNode* node = Lookup(key);
  if (node == nullptr) {
    return ScheduleForm::kAbsent;
  }
  return node->kind == YamlNode::Kind::kMapping ? ScheduleForm::kSection : ScheduleForm::kNumber;
}

std::vector<std::string> ConfigReader::EntryNames(std::vector<std::string> /*present*/) {
  std::vector<std::string> names;
  if (const YamlNode* node = frames_.back().node) {
    for (const YamlEntry& entry : node->entries) {
      if (std::find(names.begin(), names.end(), entry.key) == names.end()) {
        names.push_back(entry.key);
      }
    }
  }
  return names;
}

bool ConfigReader::Applies(const char* key, bool has_meaning, absl::string_view otherwise) {
  // Beside a wrong choice the key may have a meaning.
  if (!has_meaning && Lookup(key) != nullptr && without_meaning_ == KeysWithoutMeaning::kRefused &&
      !frames_.back().has_wrong_choice) {
    Report(PathOf(key), otherwise);
  }
  return has_meaning;
}

void ConfigReader::AllowOtherKeys() {
  frames_.back().allow_other_keys = true;
}

void ConfigReader::PushFrame(const YamlNode* node, std::string path) {
  Frame frame;
  frame.position = node == nullptr ? frames_.back().position : node->position;
  frame.path = std::move(path);
  frame.errors_before = errors_->count();
  frame.node = node;
  frames_.push_back(std::move(frame));
}

bool ConfigReader::BeginSection(const char* key) {
  const YamlNode* node = Lookup(key);
  if (node != nullptr && node->kind != YamlNode::Kind::kMapping) {
    Wrong(*node, key, "a mapping of keys");
    return false;
  }
  // An absent section is visited too: a key of it may be required.
  PushFrame(node, PathOf(key));
  return true;
}

std::string ConfigReader::HintFor(const std::string& key) const {
  const Frame& frame = frames_.back();
  for (const auto& [old_key, new_key] : frame.renamed) {
    if (old_key == key) {
      return absl::StrCat("; it is now called \"", new_key, "\"");
    }
  }
  const auto moved = std::find_if(frame.inner.begin(), frame.inner.end(), [&](const std::string& path) {
    return absl::EndsWith(path, absl::StrCat(".", key));
  });
  return moved == frame.inner.end() ? DidYouMean(key, frame.known) : absl::StrCat("; did you mean \"", *moved, "\"?");
}

void ConfigReader::ReportUnknownKeys() {
  const Frame& frame = frames_.back();
  if (frame.node == nullptr) {
    return;
  }
  const std::vector<YamlEntry>& entries = frame.node->entries;
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    const auto same = [&](const YamlEntry& other) { return other.key == entry->key; };
    const auto first = std::find_if(entries.begin(), entry, same);
    if (first != entry) {
      errors_->Add(entry->position, PathOf(entry->key),
                   absl::StrCat("given twice; first at ", first->position.DebugString()));
    } else if (!frame.allow_other_keys &&
               std::find(frame.known.begin(), frame.known.end(), entry->key) == frame.known.end()) {
      const std::string hint = HintFor(entry->key);
      const std::string known =
          frame.known.empty() ? "; wanted none" : absl::StrCat("; known: ", absl::StrJoin(frame.known, ", "));
      errors_->Add(entry->position, PathOf(entry->key), absl::StrCat("unknown key", hint.empty() ? known : hint));
    }
  }
}

void ConfigReader::EndSection(const absl::Status& validity) {
  ReportUnknownKeys();
  // After another error the fields are not what the user wrote, and Validate's message would mislead.
  const bool had_errors = errors_->count() > frames_.back().errors_before;
  const std::string path = frames_.back().path;
  const std::vector<std::string> known = frames_.back().known;
  frames_.pop_back();
  const std::string section = path.substr(path.rfind('.') + 1);
  for (const std::string& key : known) {
    frames_.back().inner.push_back(absl::StrCat(section, ".", key));
  }
  if (validity.ok() || had_errors) {
    return;
  }
  for (absl::string_view line : absl::StrSplit(validity.message(), '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(": ", 1));
    // "field" or "section.field".
    const absl::string_view field = parts.first.substr(0, parts.first.find_first_of(".["));
    if (std::find(known.begin(), known.end(), field) != known.end()) {
      Report(absl::StrCat(path, ".", parts.first), parts.second);
    } else {
      Report(path, line);
    }
  }
}

int64_t ConfigReader::BeginList(const char* key, int64_t) {
  const YamlNode* node = LookupList(key, "a list");
  if (node == nullptr) {
    return -1;
  }
  PushFrame(node, PathOf(key));
  return static_cast<int64_t>(node->items.size());
}

bool ConfigReader::BeginElement(int64_t index) {
  const YamlNode& node = frames_.back().node->items[static_cast<size_t>(index)];
  std::string path = absl::StrCat(frames_.back().path, "[", index, "]");
  if (node.kind != YamlNode::Kind::kMapping) {
    errors_->Add(node.position, path, absl::StrCat("got ", Describe(node), "; wanted a mapping of keys"));
    return false;
  }
  PushFrame(&node, std::move(path));
  return true;
}

void ConfigReader::EndList() {
  frames_.pop_back();
}

void ConfigReader::Finish() {
  ReportUnknownKeys();
}

void ConfigReader::Report(absl::string_view path, absl::string_view problem) {
  SourcePosition position = root_.position;
  const YamlNode* node = &root_;
  for (absl::string_view part : absl::StrSplit(path, '.')) {
    const std::pair<std::string, std::string> key_and_index = absl::StrSplit(part, absl::MaxSplits('[', 1));
    const YamlEntry* entry = node->Find(key_and_index.first);
    if (entry == nullptr) {
      break;
    }
    node = &entry->value;
    // An override replaces a value, but the key keeps its position.
    const bool replaced = node->position.origin != entry->position.origin;
    position = replaced ? node->position : entry->position;
    size_t index = 0;
    if (absl::SimpleAtoi(absl::string_view(key_and_index.second).substr(0, key_and_index.second.find(']')), &index) &&
        index < node->items.size()) {
      node = &node->items[index];
      position = node->position;
    }
  }
  errors_->Add(position, path, problem);
}

}  // namespace waggle
