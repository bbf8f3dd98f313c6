#pragma once

#include <string>

#include "absl/status/status.h"
#include "common/base/stop_token.h"

namespace waggle {

struct HubProcessOptions {
  std::string listen;
  std::string data_folder;
  std::string metrics_folder;   // Empty: the data folder.
  std::string experiment_file;  // Empty: the stored one, if there is one.
};

// The hub: keeps the newest weights, the experiment, and knows all workers. Until `stop`.
absl::Status RunHub(const HubProcessOptions& options, const StopToken& stop);

}  // namespace waggle
