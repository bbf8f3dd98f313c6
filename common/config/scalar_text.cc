#include "common/config/scalar_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace waggle {
namespace {

bool IsOneOf(absl::string_view text, std::initializer_list<absl::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

size_t CountDigits(absl::string_view text) {
  size_t count = 0;
  while (count < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[count]))) {
    ++count;
  }
  return count;
}

ScalarType ClassifyNumber(absl::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    text.remove_prefix(1);
  }
  if (IsOneOf(text, {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"})) {
    return ScalarType::kReal;
  }
  const size_t whole = CountDigits(text);
  if (whole > 1 && text[0] == '0') {
    return ScalarType::kText;
  }
  text.remove_prefix(whole);
  if (text.empty()) {
    return whole > 0 ? ScalarType::kInteger : ScalarType::kText;
  }
  size_t fraction = 0;
  if (text[0] == '.') {
    fraction = CountDigits(text.substr(1));
    text.remove_prefix(1 + fraction);
  }
  if (whole + fraction == 0) {
    return ScalarType::kText;
  }
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E')) {
    text.remove_prefix(1);
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
      text.remove_prefix(1);
    }
    const size_t exponent = CountDigits(text);
    if (exponent == 0) {
      return ScalarType::kText;
    }
    text.remove_prefix(exponent);
  }
  return text.empty() ? ScalarType::kReal : ScalarType::kText;
}

}  // namespace

ScalarType ClassifyScalar(absl::string_view text) {
  if (IsOneOf(text, {"", "~", "null", "Null", "NULL"})) {
    return ScalarType::kNull;
  }
  if (IsOneOf(text, {"true", "True", "TRUE", "false", "False", "FALSE"})) {
    return ScalarType::kBool;
  }
  return ClassifyNumber(text);
}

std::string NumberText(double value) {
  if (!std::isfinite(value)) {
    return std::isnan(value) ? ".nan" : value > 0 ? ".inf" : "-.inf";
  }
  if (value == std::floor(value) && std::abs(value) < 1e15) {
    return absl::StrFormat("%.0f", value);
  }
  char buffer[32];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

std::string TextScalar(absl::string_view text) {
  const bool plain = !text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text[0])) &&
                     std::all_of(text.begin(), text.end(),
                                 [](unsigned char c) {
                                   return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/';
                                 }) &&
                     ClassifyScalar(text) == ScalarType::kText &&
                     // Booleans for readers of YAML 1.1.
                     !IsOneOf(absl::AsciiStrToLower(text), {"yes", "no", "on", "off", "y", "n"});
  if (plain) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const unsigned char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", absl::string_view(reinterpret_cast<const char*>(&c), 1));
    } else if (c < 0x20 || c == 0x7f) {
      absl::StrAppend(&quoted, absl::StrFormat("\\x%02x", c));
    } else {
      quoted.push_back(static_cast<char>(c));
    }
  }
  return absl::StrCat(quoted, "\"");
}

}  // namespace waggle
