#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/experiment/experiment.h"
#include "common/hub/ports/pool.h"

namespace waggle {

// The seats of one role in an experiment.
struct SeatGroup {
  Role role = Role::kActor;
  WorkerKind kind = WorkerKind::kActor;  // Who can have them.
  int64_t least = 1;                     // That it takes to begin.
  int64_t most = 1;
  std::string device = "cpu";  // cpu, cuda or cuda:N.
  bool steps_environment = false;
  bool serves = false;    // Others have to reach them.
  bool distinct = false;  // No process has two of them, though it has room.
  bool keeps = false;     // What a process with a disk holds for them outlives it.
};

// What an experiment needs of the pool.
struct RunNeeds {
  std::string experiment_id;
  int64_t priority = 0;
  int64_t sequence = 0;  // Of its submission.
  std::string environment;
  std::string output_folder;
  std::vector<SeatGroup> groups;
};

// All but the id, the priority and the sequence, which are not the experiment's own.
RunNeeds NeedsOf(const Experiment& experiment);

}  // namespace waggle
