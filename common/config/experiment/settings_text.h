#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace waggle {

// The settings of an experiment are the values that were set after its submission, as text: lines "KEY=VALUE" in the
// order of their keys, each value as YAML on one line. They are numbers that were set while it ran (live_settings.h)
// and later limits (param_server/experiments/later_limits.h). Empty: none was set.
using SettingValues = std::vector<std::pair<std::string, std::string>>;

// INVALID_ARGUMENT for text of another form.
absl::StatusOr<SettingValues> ParseSettings(const std::string& settings);
std::string SettingsText(const std::map<std::string, std::string>& values);

// Removes the text "--set KEY=VALUE: " of each value from the problems, because the user typed no --set.
absl::Status WithoutFlags(const absl::Status& problems, const SettingValues& values);

}  // namespace waggle
