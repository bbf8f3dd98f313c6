#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "common/hub/ports/hub.h"
#include "param_server/experiments/experiment_store.h"

namespace waggle {

// A member of a submitted group.
struct SubmittedMember {
  std::string effective_yaml;
  std::vector<std::string> settings;  // "KEY=VALUE" in which it differs from the others.
};

struct Submission {
  std::string submitted_yaml;
  std::string effective_yaml;  // Unused for a group.
  int64_t priority = 0;
  std::string request_id;
  std::vector<SubmittedMember> members = {};  // Not empty: a group.
  std::vector<std::string> tags = {};
  std::string owner = {};
};

struct ExperimentQuery {
  int64_t limit = 100;
  std::set<RunState> states;                             // Empty: all.
  int64_t before = std::numeric_limits<int64_t>::max();  // Only experiments with a smaller sequence.
  // Empty: all. With tags: only experiments that have all of them.
  std::string group = {};
  std::vector<std::string> tags = {};
  std::string owner = {};
  std::string name = {};
  bool fold_groups = false;  // Each group is listed once, instead of its members, if one of them passes.
};

}  // namespace waggle
