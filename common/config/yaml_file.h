#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/config/config_errors.h"
#include "common/config/yaml_node.h"

namespace waggle {

// Larger configurations are refused.
inline constexpr size_t kMaxYamlBytes = size_t{1} << 20;

// Parses one YAML document; an empty one is null. `origin` is the file's name, for messages. INVALID_ARGUMENT with file
// and line for a syntax error, a second document, and unsupported YAML: aliases, merge keys, tags, keys that are not
// plain words. Never throws.
absl::StatusOr<YamlNode> ParseYaml(const std::string& text, const std::string& origin);

// A file's contents. NOT_FOUND, PERMISSION_DENIED, … if it cannot be read, INVALID_ARGUMENT if it is too large.
absl::StatusOr<std::string> ReadYamlFile(const std::string& path);

// Splits "a.b=c" into {"a.b", "c"}. INVALID_ARGUMENT for text of another form.
absl::StatusOr<std::pair<std::string, std::string>> ParseOverride(absl::string_view text);

// Sets the values that `overrides` name, in their order: {"learner.batch_size", "256"}. A path's parts are keys, and
// for elements of lists numbers from 0, either as "torso.0.units" or as "torso[0].units"; the number after the last
// appends. A value is YAML. Absent nodes of the path are made. Problems go to `errors`, and such overrides are left
// out; `flag` is the user's text before each of them.
void ApplyOverrides(const std::vector<std::pair<std::string, std::string>>& overrides, YamlNode* root,
                    ConfigErrors* errors, const std::string& flag = "--set ");

}  // namespace waggle
