#include "cli/serve/serve_environment.h"

#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "actor/environments/environment.h"
#include "actor/rpc_environments/environment_service.h"
#include "common/base/machine_memory.h"
#include "common/base/status_macros.h"
#include "common/config/config_errors.h"
#include "common/config/config_reader.h"
#include "common/config/yaml_file.h"
#include "common/rpc/server.h"

namespace waggle {
namespace {

// How long calls may take to end by themselves.
constexpr absl::Duration kGrace = absl::Milliseconds(100);

absl::StatusOr<EnvironmentOptions> OptionsOf(const ServeEnvironmentFlags& flags) {
  std::vector<std::pair<std::string, std::string>> overrides = flags.overrides;
  overrides.emplace_back("environment.name", flags.name);
  WAGGLE_ASSIGN_OR_RETURN(YamlNode root, ParseYaml("environment: {}", "flags"));
  ConfigErrors errors;
  ApplyOverrides(overrides, &root, &errors);
  ConfigReader reader(root, &errors);
  EnvironmentOptions options;
  reader.Section("environment", &options);
  reader.Finish();
  WAGGLE_RETURN_IF_ERROR(errors.ToStatus());
  if (const EnvironmentOptions defaults; options.transforms != defaults.transforms) {
    return absl::InvalidArgumentError(
        absl::StrCat("environment.transforms: got ", options.transforms,
                     "; wanted none: they belong to the experiment that uses the environment"));
  }
  return options;
}

}  // namespace

absl::Status ServeEnvironment(const ServeEnvironmentFlags& flags, const StopToken& stop, std::ostream* out) {
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentOptions options, OptionsOf(flags));
  const EnvironmentDefinitions definitions = BuiltinEnvironments();
  const absl::StatusOr<const EnvironmentDefinition*> definition = definitions.Find(options.name);
  if (!definition.ok()) {
    return absl::InvalidArgumentError(definition.status().message());
  }
  WAGGLE_ASSIGN_OR_RETURN(
      const std::unique_ptr<ServedWorlds> worlds,
      ServedWorlds::Create(*definition, options, static_cast<uint64_t>(flags.seed), MachineMemoryBytes() / 2));
  EnvironmentService service(worlds.get());
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<RpcServer> server, RpcServer::Start(flags.listen, {&service}));
  *out << "serves " << options.name << " at " << server->address() << std::endl;
  stop.Wait();
  server->Shutdown(kGrace);
  return absl::OkStatus();
}

}  // namespace waggle
