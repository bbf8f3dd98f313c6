#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/config/experiment/live_settings.h"
#include "param_server/experiments/host_state.h"

namespace waggle {

// ExperimentHost::Set. Waits for the disk.
absl::StatusOr<std::vector<SettingChange>> SetNumbers(HostState* host, const std::string& id,
                                                      const std::vector<std::pair<std::string, std::string>>& numbers,
                                                      bool dry_run);

// A running member of a population takes `numbers`, and its learner the newest weights of the member `winner`, which
// are of `version` now. Waits for the disk. Errors as SetNumbers.
absl::Status ExploitWinner(HostState* host, const std::string& id, const std::string& winner,
                           const std::string& version, const std::vector<std::pair<std::string, std::string>>& numbers);

// The texts of an experiment, the effective one with its settings. Waits for the disk. NOT_FOUND if there is no such
// experiment.
absl::StatusOr<ExperimentTexts> PresentTexts(HostState* host, const std::string& id);

}  // namespace waggle
