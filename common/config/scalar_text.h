#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace waggle {

// The type of an unquoted YAML scalar by YAML 1.2's core schema: "yes" is text. Numbers are decimal; "0x10" and "010"
// (octal for some) are text.
enum class ScalarType { kNull, kBool, kInteger, kReal, kText };

ScalarType ClassifyScalar(absl::string_view text);

// The shortest decimal that reads back as exactly `value`, in the form that ClassifyScalar knows.
std::string NumberText(double value);

// `text` as a YAML scalar that reads back as this text: quoted if necessary.
std::string TextScalar(absl::string_view text);

}  // namespace waggle
