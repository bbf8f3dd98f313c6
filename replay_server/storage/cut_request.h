#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace waggle {

// A checkpoint that is kept as a server's part of a run's cut (docs/cuts.md).
struct CutRequest {
  std::string experiment;
  uint64_t number = 0;
  std::vector<uint64_t> kept;  // The experiment's other cuts that stay.
};

// A return of an experiment's tables to a cut.
struct CutReturn {
  std::string experiment;
  uint64_t number = 0;
  std::string token;  // The return's own, see Restoration.
};

struct FailedReturn {
  CutReturn cut;
  absl::Status status;  // Why the tables could not become those of the cut.
};

}  // namespace waggle
