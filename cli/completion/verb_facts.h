#pragma once

#include <string>
#include <vector>

#include "common/base/process/flag_facts.h"

namespace waggle {

// A verb of `waggle`, for its manual page and for the completion of shells.
struct VerbFacts {
  std::string name;  // "run". Behind `waggle replay`: "replay export".
  std::string description;
  std::vector<FlagFacts> flags;
};

}  // namespace waggle
