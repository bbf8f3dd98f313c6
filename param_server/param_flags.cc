#include "param_server/param_flags.h"

#include <cstdlib>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "common/base/process/flags.h"
#include "common/base/process/security_flags.h"

namespace waggle {

absl::Status ParamFlags::Check() const {
  struct Flag {
    const char* name;
    bool given;
    std::initializer_list<ParamRole> roles;
  };
  // As an environment variable it is set for all processes of a machine, including the hub.
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
      {"--quotas", !quotas.empty(), {ParamRole::kHub}},
      {"--web", !web.empty(), {ParamRole::kHub}},
  };
  for (const Flag& flag : flags) {
    bool fits = !flag.given;
    for (const ParamRole each : flag.roles) {
      fits = fits || each == role;
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(flag.name, " does not apply to this --role"));
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
  options.metrics_listen = metrics_listen;
  return options;
}

void AddParamFlags(CLI::App* app, ParamFlags* flags) {
  AddChoiceFlag<ParamRole>(
      app, "--role", &flags->role, {{"hub", ParamRole::kHub}, {"reducer", ParamRole::kReducer}},
      "The role of this process. hub: the one parameter server. reducer: a part of the gradient server of "
      "experiments with learner.gradients: push; the hub makes it the primary or one of "
      "learner.gradient_server.reducers");
  AddListenFlag(app, &flags->listen);
  AddPathFlag(app, "--data-dir", &flags->data_folder, "DIR",
              "hub, required: the folder for data that must survive this process. The hub writes its address to the "
              "file \"address\" there");
  SetRequired(AddParamServerFlag(app, &flags->param_server), false);
  AddAddressFlag(
      app, "--advertise", &flags->advertise,
      "reducer: the address that other processes connect to; by default the listening address, or if that is a "
      "wildcard the address from which this process reaches the hub");
  AddIntegerFlag(app, "--index", &flags->index, 0, 9999,
                 "reducer: the index that this process prefers among an experiment's reducers, if it is free");
  AddPathFlag(app, "--output-dir", &flags->output_folder, "DIR",
              "hub: the folder for an experiment's files: its figures over time, its checkpoints and its best "
              "weights. {id} in it stands for the experiment's id; without {id} the hub takes one experiment. "
              "Learners must see the same folder by the same path, or they write no checkpoints. "
              "By default --data-dir/experiments/{id}/output");
  AddSwitch(app, "--no-plot", &flags->no_plot,
            "hub: do not draw curves.png when an experiment has ended; drawing it needs a python3 with matplotlib");
  AddPathFlag(
      app, "--quotas", &flags->quotas, "FILE",
      "hub: a YAML file with the most running experiments, learners and actors of each owner and tag, and the "
      "weights of owners in fair shares; see docs/sweeps.md. By default there is no bound, and owners are equal");
  AddServingFlag(app, "--web", &flags->web,
                 "hub: serve a web page of the pool, the queue and the experiments at this address, such as "
                 "127.0.0.1:7080; port 0 takes a free one, which is written to the file \"web_address\" in --data-dir. "
                 "With --tls it speaks HTTPS and asks for a token. Without, every program that reaches the address can "
                 "read the page, and only users of this machine can change experiments. By default there is no page");
  AddServerSecurityFlags(app, &flags->security);
  AddMetricsFlag(app, &flags->metrics_listen);
  AddCommonFlags(app, &flags->log);
}

}  // namespace waggle
