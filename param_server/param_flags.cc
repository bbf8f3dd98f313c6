#include "param_server/param_flags.h"

#include <cstdlib>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "common/process/flags.h"

namespace waggle {

absl::Status ParamFlags::Check() const {
  struct Flag {
    const char* name;
    bool given;
    std::initializer_list<ParamRole> roles;
  };
  // In the environment it is for all of a machine's processes, the hub among them.
  const char* const everyones = std::getenv("WAGGLE_PARAM_SERVER");
  const Flag flags[] = {
      {"--data-dir", !data_folder.empty(), {ParamRole::kHub}},
      {"--param-server",
       !param_server.empty() && (everyones == nullptr || param_server != everyones),
       {ParamRole::kReducer}},
      {"--advertise", !advertise.empty(), {ParamRole::kReducer}},
      {"--index", index.has_value(), {ParamRole::kReducer}},
      {"--output-dir", !output_folder.empty(), {ParamRole::kHub}},
      {"--no-plot", no_plot, {ParamRole::kHub}},
  };
  for (const Flag& flag : flags) {
    bool fits = !flag.given;
    for (const ParamRole each : flag.roles) {
      fits = fits || each == role;
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(flag.name, " means nothing to this --role"));
    }
  }
  const bool is_hub = role == ParamRole::kHub;
  if (is_hub ? data_folder.empty() : param_server.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(is_hub ? "--data-dir" : "--param-server", " is required"));
  }
  return absl::OkStatus();
}

const char* ParamFlags::Name() const {
  return role == ParamRole::kHub ? "param-server" : "reducer";
}

GradientProcessOptions ParamFlags::Gradients() const {
  GradientProcessOptions options;
  options.listen = listen;
  options.hub_address = param_server;
  options.advertise = advertise;
  options.index = index;
  return options;
}

void AddParamFlags(CLI::App* app, ParamFlags* flags) {
  AddChoiceFlag<ParamRole>(
      app, "--role", &flags->role, {{"hub", ParamRole::kHub}, {"reducer", ParamRole::kReducer}},
      "What this process is: the hub, of which there is one; or, for experiments whose learner.gradients is push, a "
      "part of their gradient server: the primary, or one of learner.gradient_server.reducers, as the hub says");
  AddListenFlag(app, &flags->listen);
  AddPathFlag(app, "--data-dir", &flags->data_folder, "DIR",
              "hub, required: the folder for what must survive this process; its address is written there, to the file "
              "\"address\"");
  SetRequired(AddParamServerFlag(app, &flags->param_server), false);
  AddAddressFlag(
      app, "--advertise", &flags->advertise,
      "reducer: where others find this process; by default where it listens, or where that stands for all of "
      "this machine at the address from which it reaches the hub");
  AddIntegerFlag(app, "--index", &flags->index, 0, 9999,
                 "reducer: which of an experiment's reducers this one would rather be, where that is free");
  AddPathFlag(app, "--output-dir", &flags->output_folder, "DIR",
              "hub: where an experiment's files go, which are its figures over time, its checkpoints and its best "
              "weights; {id} in it stands for the experiment's id, and without it the hub takes one experiment. "
              "Learners should see the same folder by the same "
              "path: one that does not writes no checkpoints. --data-dir/experiments/{id}/output unless given");
  AddSwitch(app, "--no-plot", &flags->no_plot,
            "hub: draws no curves.png of an experiment that has ended; it is drawn where python3 has matplotlib");
  AddCommonFlags(app, &flags->log_level);
}

}  // namespace waggle
