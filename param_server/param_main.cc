// waggle-param-server: the hub, with models, workers and the experiment; or a part of the gradient server.

#include <iostream>
#include <memory>
#include <optional>

#include "common/process/flags.h"
#include "common/process/process.h"
#include "param_server/gradient_processes.h"
#include "param_server/hub_process.h"
#include "param_server/param_flags.h"

namespace waggle {
namespace {

constexpr int kUsageError = 2;

absl::Status Run(const ParamFlags& flags, const StopToken& stop) {
  switch (flags.role) {
    case ParamRole::kPrimary:
      return ServePrimary(flags.Gradients(), stop);
    case ParamRole::kReducer:
      return ServeReducer(flags.Gradients(), stop);
    case ParamRole::kHub:
      break;
  }
  return RunHub({flags.listen, flags.data_folder, flags.output_folder}, stop);
}

}  // namespace
}  // namespace waggle

int main(int argc, char** argv) {
  const std::shared_ptr<CLI::App> app = waggle::NewCommandLine(
      "Waggle's parameter server. As the hub it keeps the newest weights, the experiment, and knows all workers. As "
      "the "
      "primary it steps the weights from gradients that actors push, in the learner's place; as a reducer it adds "
      "these "
      "up on their way.",
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
  return waggle::RunProcess(flags.Name(), flags.log_level,
                            [&flags](const waggle::StopToken& stop) { return waggle::Run(flags, stop); });
}
