#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/api/pool.h"

namespace waggle {

// An order as a process of the pool tells of it.
struct HeldOrder {
  WorkOrder order;
  bool ended = false;
  std::string failure;  // Why it gave up; empty if it did not.
};

// A process of the pool, as it describes itself with each call.
struct Attendance {
  std::string worker_id;
  WorkerKind kind = WorkerKind::kActor;
  std::string address;  // HOST:PORT; empty if it does not serve.
  int64_t process_id = 0;
  std::string host;
  std::string storage_id;  // Of its data on the disk; empty: none.
  std::optional<int64_t> wanted_index;
  int64_t capacity = 1;
  WorkerResources resources;
  std::vector<HeldOrder> held;
  std::vector<std::string> kept;  // Experiments of which it keeps anything.
  bool leaving = false;
};

// INVALID_ARGUMENT for names that are not valid and for too many entries.
absl::Status Validate(const Attendance& attendance);

}  // namespace waggle
