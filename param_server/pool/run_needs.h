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
  WorkerKind kind = WorkerKind::kActor;  // Kind of process that can have these seats.
  int64_t least = 1;                     // Needed to begin.
  int64_t most = 1;
  std::string device = "cpu";  // cpu, cuda or cuda:N.
  bool steps_environment = false;
  bool serves = false;    // Other processes connect to these workers.
  bool distinct = false;  // No process has two of these seats.
  bool keeps = false;     // The data of a seat outlive its process, on a disk.
};

// The workers that an experiment needs.
struct RunNeeds {
  std::string experiment_id;
  int64_t priority = 0;
  int64_t sequence = 0;  // Order of submission.
  std::string environment;
  std::string output_folder;
  std::vector<SeatGroup> groups;
};

// All but the id, priority, sequence and output folder, which its submission decides.
RunNeeds NeedsOf(const Experiment& experiment);

}  // namespace waggle
