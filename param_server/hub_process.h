#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/base/threads/stop_token.h"

namespace waggle {

struct HubProcessOptions {
  std::string listen;
  std::string data_folder;
  // Where an experiment's files go, "{id}" standing for its id; empty: into the data folder.
  std::string output_pattern;
  bool plots = true;  // Draws the curves of experiments that have ended.
};

// The hub: keeps the experiments and their weights, and gives the pool's processes their work. Until `stop`.
absl::Status RunHub(const HubProcessOptions& options, const StopToken& stop);

}  // namespace waggle
