#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace waggle {

// The memory for sampled batches that all samplers of a server share, as it is for those of one table.
struct SampleMemory {
  int64_t limit = 0;  // max_sample_bytes.
  // This table's batches that were drawn and wait for memory, and how long nothing was granted to the one of its
  // samplers that has waited longest.
  int64_t waiting = 0;
  absl::Duration waited;
  std::string who;  // That one.

  struct Holder {
    std::string table;
    std::string who;
    int64_t bytes = 0;
    absl::Duration unread;  // How long it has taken nothing of what it was sent.
  };
  std::vector<Holder> holders;  // Of all tables, those who have most first.
};

// "2 batches wait for memory: samplers have 1020 of 1024 bytes (max_sample_bytes): learner at table "a" 800, and has
// read nothing for 33 s; …".
std::string WhyBatchesWait(const SampleMemory& memory);

}  // namespace waggle
