#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/base/log_format.h"
#include "common/net/security/security_options.h"
#include "param_server/gradient_processes.h"

namespace CLI {
class App;
}  // namespace CLI

// The command line of waggle-param-server.

namespace waggle {

enum class ParamRole { kHub, kReducer };

struct ParamFlags {
  ParamRole role = ParamRole::kHub;
  std::string listen;
  std::string data_folder;
  std::string output_folder;
  bool no_plot = false;
  std::string quotas;  // A file; empty: no quotas.
  std::string web;
  std::string param_server;
  std::string advertise;
  std::optional<int64_t> index;
  LogOptions log;
  std::string metrics_listen;  // Empty: serves no metrics.
  SecurityOptions security;

  // INVALID_ARGUMENT, naming the flag, if the role's required flag is missing or a flag does not apply to the role.
  absl::Status Check() const;
  // The process name for the log: "param-server" or "reducer".
  const char* Name() const;
  GradientProcessOptions Gradients() const;
};

// Adds all flags to `app`. `flags` has the defaults, and outlives the parsing.
void AddParamFlags(CLI::App* app, ParamFlags* flags);

}  // namespace waggle
