// waggle-param-server: the hub, or a part of a gradient server.

#include <iostream>
#include <memory>
#include <optional>

#include "common/base/process/flags.h"
#include "common/base/process/process.h"
#include "common/base/status_macros.h"
#include "common/net/security/security.h"
#include "param_server/gradient_processes.h"
#include "param_server/hub_process.h"
#include "param_server/param_flags.h"

namespace waggle {
namespace {

constexpr int kUsageError = 2;

absl::Status Run(const ParamFlags& flags, const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(SetProcessSecurity(flags.security));
  if (flags.role == ParamRole::kReducer) {
    return ServeGradients(flags.Gradients(), stop);
  }
  HubProcessOptions options;
  options.listen = flags.listen;
  options.data_folder = flags.data_folder;
  options.output_pattern = flags.output_folder;
  options.plots = !flags.no_plot;
  options.quotas_file = flags.quotas;
  options.web = flags.web;
  options.metrics_listen = flags.metrics_listen;
  return RunHub(options, stop);
}

}  // namespace
}  // namespace waggle

int ParamServerMain(int argc, char** argv) {
  const std::shared_ptr<CLI::App> app = waggle::NewCommandLine(
      "Waggle's parameter server. As the hub it saves experiments and their newest weights, and gives workers their "
      "orders. As a reducer it is a part of one gradient server at a time: it adds up the gradients that actors push, "
      "or steps the weights with them in the learner's place.",
      "waggle-param-server");
  waggle::ParamFlags flags;
  waggle::AddParamFlags(app.get(), &flags);
  if (const std::optional<int> exit = waggle::ParseCommandLine(app.get(), argc, argv); exit.has_value()) {
    return *exit;
  }
  if (const absl::Status fits = flags.Check(); !fits.ok()) {
    std::cerr << "waggle-param-server: " << fits.message() << "; see waggle-param-server --help" << std::endl;
    return waggle::kUsageError;
  }
  return waggle::RunProcess(flags.Name(), flags.log,
                            [&flags](const waggle::StopToken& stop) { return waggle::Run(flags, stop); });
}
