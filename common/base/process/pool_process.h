#pragma once

#include <string>

#include "common/hub/ports/pool.h"

// The common parts of the pool's processes, beside their work.

namespace waggle {

// The cores and the memory that this process may use. Without devices and environments, which not every executable
// knows.
WorkerResources MachineResources();

// The folder for an order's files, such as checkpoints: the experiment's own, and beneath it one for each learner after
// the first, as each has a state of its own. Empty, with a warning, if this machine does not have the experiment's
// folder, which the hub has made.
std::string OutputFolderOf(const WorkOrder& order);

}  // namespace waggle
