#include "cli/serve/serve_environment.h"

#include <memory>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "actor/environments/environment.h"
#include "actor/environments/rpc/environment_service.h"
#include "cli/play/named_environment.h"
#include "common/base/machine_memory.h"
#include "common/base/status_macros.h"
#include "common/net/server.h"

namespace waggle {
namespace {

// The time that calls get to end by themselves.
constexpr absl::Duration kGrace = absl::Milliseconds(100);

}  // namespace

absl::Status ServeEnvironment(const ServeEnvironmentFlags& flags, const StopToken& stop, std::ostream* out) {
  WAGGLE_ASSIGN_OR_RETURN(const EnvironmentOptions options, NamedEnvironment(flags.name, flags.overrides));
  const EnvironmentOptions defaults;
  if (options.threads != defaults.threads) {
    return absl::InvalidArgumentError(
        absl::StrCat("environment.threads: got ", options.threads,
                     "; wanted none: the lanes of a stream are stepped one after the other"));
  }
  if (options.transforms != defaults.transforms) {
    return absl::InvalidArgumentError(
        absl::StrCat("environment.transforms: got ", options.transforms,
                     "; wanted none: they belong to the experiment that uses the environment"));
  }
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
