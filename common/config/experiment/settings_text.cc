#include "common/config/experiment/settings_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/config/yaml_file.h"

namespace waggle {

absl::StatusOr<SettingValues> ParseSettings(const std::string& settings) {
  SettingValues values;
  for (const absl::string_view line : absl::StrSplit(settings, '\n', absl::SkipEmpty())) {
    WAGGLE_ASSIGN_OR_RETURN(values.emplace_back(), ParseOverride(line));
  }
  return values;
}

std::string SettingsText(const std::map<std::string, std::string>& values) {
  return absl::StrJoin(
      values, "", [](std::string* out, const auto& one) { absl::StrAppend(out, one.first, "=", one.second, "\n"); });
}

absl::Status WithoutFlags(const absl::Status& problems, const SettingValues& values) {
  std::string message(problems.message());
  for (const auto& [key, value] : values) {
    message = absl::StrReplaceAll(message, {{absl::StrCat("--set ", key, "=", value, ": "), ""}});
  }
  return absl::Status(problems.code(), message);
}

}  // namespace waggle
