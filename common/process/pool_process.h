#pragma once

#include <string>

#include "common/api/pool.h"

// What processes of the pool have in common, beside their work.

namespace waggle {

// The cores and the memory that this process may use. Without devices and environments, which not every executable
// knows of.
WorkerResources MachineResources();

// The folder for what an order's process writes, such as checkpoints: the experiment's own, and beneath it one for each
// learner beside the first, as the state of each is its own. Empty, with a warning, where this machine does not have
// the experiment's folder, which the hub has made.
std::string OutputFolderOf(const WorkOrder& order);

}  // namespace waggle
