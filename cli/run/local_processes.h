#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/run/output_folder.h"
#include "cli/run/supervision.h"
#include "common/config/experiment/experiment.h"

// The processes that `waggle run` starts for an experiment, their command lines, and the rules by which it watches
// them.

namespace waggle {

std::vector<Supervision::Process> ProcessesOf(const Experiment& experiment);

Supervision::Rules RulesOf(const Experiment& experiment);

// The system's error, naming the first executable that is not in `folder`.
absl::Status CheckExecutables(const Experiment& experiment, const std::string& folder);

// The executable's path and its arguments. `hub_address` is HOST:PORT; the hub itself does not need it.
std::vector<std::string> CommandFor(const Supervision::Process& process, const ReplayOptions& replay,
                                    const std::string& binary_folder, const std::string& hub_address,
                                    const OutputFolder& folder);

}  // namespace waggle
