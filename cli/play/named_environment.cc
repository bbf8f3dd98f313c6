#include "cli/play/named_environment.h"

#include "common/base/status_macros.h"
#include "common/config/config_errors.h"
#include "common/config/config_reader.h"
#include "common/config/yaml_file.h"

namespace waggle {

absl::StatusOr<EnvironmentOptions> NamedEnvironment(const std::string& name,
                                                    std::vector<std::pair<std::string, std::string>> overrides) {
  overrides.emplace_back("environment.name", name);
  WAGGLE_ASSIGN_OR_RETURN(YamlNode root, ParseYaml("environment: {}", "flags"));
  ConfigErrors errors;
  ApplyOverrides(overrides, &root, &errors);
  ConfigReader reader(root, &errors);
  EnvironmentOptions options;
  reader.Section("environment", &options);
  reader.Finish();
  WAGGLE_RETURN_IF_ERROR(errors.ToStatus());
  return options;
}

}  // namespace waggle
