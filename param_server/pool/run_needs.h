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
  bool serves = false;              // Other processes connect to these workers.
  bool distinct = false;            // No process has two of these seats.
  bool keeps = false;               // The data of a seat outlive its process, on a disk.
  std::string setting = {};         // The experiment's key that decides the number of seats.
  std::string device_setting = {};  // The same for the device; empty: none.
};

// The workers that an experiment needs.
struct RunNeeds {
  std::string experiment_id;
  int64_t priority = 0;
  int64_t sequence = 0;  // Order of submission.
  std::string environment;
  std::string output_folder;
  std::vector<SeatGroup> groups;
  std::string owner = {};
  std::vector<std::string> tags = {};

  // The least number of processes.
  int64_t Least() const;
};

// All but the id, priority, sequence, output folder, owner and tags, which its submission decides.
RunNeeds NeedsOf(const Experiment& experiment);

}  // namespace waggle
