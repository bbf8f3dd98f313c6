#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/config/range.h"
#include "common/config/scalar_text.h"
#include "common/config/yaml_node.h"

// Values of YAML nodes. A plain scalar has the type that it looks like; a quoted one is text.

namespace waggle {

// A node in words, for "got …".
std::string Describe(const YamlNode& node);

bool IsPlainScalar(const YamlNode& node, ScalarType type);
bool IsNumber(const YamlNode& node);
bool IsText(const YamlNode& node);

// False if the node is no whole number in `range`; `value` is unchanged then.
bool ParseInteger(const YamlNode& node, const Range& range, int64_t* value);

// `twice` is called for an entry whose key the mapping has already; the later value stays.
nlohmann::ordered_json YamlToJson(const YamlNode& node, const std::function<void(const YamlEntry&)>& twice);

}  // namespace waggle
