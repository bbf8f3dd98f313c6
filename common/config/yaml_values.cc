#include "common/config/yaml_values.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/whole_number.h"

namespace waggle {
namespace {

nlohmann::ordered_json ScalarToJson(const YamlNode& node) {
  if (!node.quoted) {
    int64_t integer = 0;
    double real = 0;
    switch (ClassifyScalar(node.text)) {
      case ScalarType::kNull:
        return nullptr;
      case ScalarType::kBool:
        return absl::EqualsIgnoreCase(node.text, "true");
      case ScalarType::kInteger:
        if (absl::SimpleAtoi(node.text, &integer)) {
          return integer;
        }
        break;
      case ScalarType::kReal:
        if (absl::SimpleAtod(node.text, &real) && std::isfinite(real)) {
          return real;
        }
        break;
      case ScalarType::kText:
        break;
    }
  }
  return node.text;
}

}  // namespace

std::string Describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMapping:
      return "a mapping";
    case YamlNode::Kind::kScalar:
      break;
  }
  const std::string shown = node.text.size() <= 60 ? node.text : absl::StrCat(node.text.substr(0, 57), "...");
  if (node.quoted) {
    return absl::StrCat("the text \"", shown, "\"");
  }
  switch (ClassifyScalar(node.text)) {
    case ScalarType::kInteger:
    case ScalarType::kReal:
      return absl::StrCat("the number ", shown);
    case ScalarType::kBool:
      return shown;
    default:
      return absl::StrCat("\"", shown, "\"");
  }
}

bool IsPlainScalar(const YamlNode& node, ScalarType type) {
  return node.kind == YamlNode::Kind::kScalar && !node.quoted && ClassifyScalar(node.text) == type;
}

bool IsNumber(const YamlNode& node) {
  return IsPlainScalar(node, ScalarType::kInteger) || IsPlainScalar(node, ScalarType::kReal);
}

bool ParseInteger(const YamlNode& node, const Range& range, int64_t* value) {
  const std::optional<int64_t> parsed = IsNumber(node) ? ParseWholeNumber(node.text) : std::nullopt;
  if (!parsed.has_value() || !range.Holds(static_cast<double>(*parsed))) {
    return false;
  }
  *value = *parsed;
  return true;
}

bool IsText(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar && (node.quoted || ClassifyScalar(node.text) == ScalarType::kText);
}

nlohmann::ordered_json YamlToJson(const YamlNode& node, const std::function<void(const YamlEntry&)>& twice) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return nullptr;
    case YamlNode::Kind::kScalar:
      return ScalarToJson(node);
    case YamlNode::Kind::kList: {
      auto list = nlohmann::ordered_json::array();
      for (const YamlNode& item : node.items) {
        list.push_back(YamlToJson(item, twice));
      }
      return list;
    }
    case YamlNode::Kind::kMapping:
      break;
  }
  auto object = nlohmann::ordered_json::object();
  for (const YamlEntry& entry : node.entries) {
    if (object.contains(entry.key)) {
      twice(entry);
    }
    object[entry.key] = YamlToJson(entry.value, twice);
  }
  return object;
}

}  // namespace waggle
