#include "cli/replay/table_changes.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/config/config_reader.h"
#include "common/config/experiment/table_fields.h"
#include "common/config/yaml_file.h"

namespace waggle {
namespace {

bool IsFixed(const std::string& key) {
  const std::vector<std::string> fixed_keys = FixedTableKeys();
  return std::any_of(fixed_keys.begin(), fixed_keys.end(), [&key](const std::string& fixed) {
    return key == fixed || absl::StartsWith(key, fixed + ".") || absl::StartsWith(key, fixed + "[");
  });
}

}  // namespace

absl::StatusOr<TableConfig> WithChanges(const TableConfig& config,
                                        const std::vector<std::pair<std::string, std::string>>& changes) {
  ConfigErrors errors;
  std::vector<std::pair<std::string, std::string>> overrides;
  for (const auto& [key, value] : changes) {
    if (IsFixed(key)) {
      errors.Add({absl::StrCat(key, "=", value), 0}, key, "cannot be changed while the table is in use");
    } else {
      overrides.emplace_back(key, value);
    }
  }
  YamlNode root;
  root.kind = YamlNode::Kind::kMapping;
  ApplyOverrides(overrides, &root, &errors, /*flag=*/"");
  TableConfig changed = config;
  ConfigReader reader(root, &errors);
  VisitTableFields(&changed, TableFieldSet::kChangeable, &reader);
  reader.Finish();
  WAGGLE_RETURN_IF_ERROR(errors.ToStatus());
  WAGGLE_RETURN_IF_ERROR(Annotate(changed.Validate(), absl::StrCat("table \"", config.name, "\" would be wrong")));
  return changed;
}

}  // namespace waggle
