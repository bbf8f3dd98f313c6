#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

struct HubProcessOptions {
  std::string listen;
  std::string data_folder;
  // The output folder of an experiment. "{id}" stands for its id; empty: a folder in the data folder.
  std::string output_pattern;
  bool plots = true;           // Draws the curves of experiments that have ended.
  std::string quotas_file;     // See LoadQuotas; empty: no quotas.
  std::string web;             // HOST:PORT of the web page; empty: none is served.
  std::string metrics_listen;  // HOST:PORT for a Monitor; empty: none.
};

// Runs the hub until `stop`. It saves the experiments and their weights, and gives the pool's processes their work.
absl::Status RunHub(const HubProcessOptions& options, const StopToken& stop);

}  // namespace waggle
