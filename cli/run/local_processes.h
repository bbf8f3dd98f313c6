#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/run/output_folder.h"
#include "cli/run/supervision.h"
#include "common/experiment/experiment.h"

// Which processes `waggle run` starts for an experiment, how it starts them, and by which rules it watches them.

namespace waggle {

std::vector<Supervision::Process> ProcessesOf(const Experiment& experiment);

Supervision::Rules RulesOf(const Experiment& experiment);

// An error of the system that names the first executable that is not in `folder`.
absl::Status CheckExecutables(const Experiment& experiment, const std::string& folder);

// The executable's path and its arguments. `hub_address` is HOST:PORT, unknown and not needed for the hub itself.
std::vector<std::string> CommandFor(const Supervision::Process& process, const ReplayOptions& replay,
                                    const std::string& binary_folder, const std::string& hub_address,
                                    const OutputFolder& folder);

}  // namespace waggle
