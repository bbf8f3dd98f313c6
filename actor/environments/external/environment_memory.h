#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/config/spec/environment_spec.h"

namespace waggle {

// A lane's command when its group runs.
enum class LaneCommand : uint8_t {
  kLeave = 0,
  kStep = 1,   // Takes its action; after an episode's end ignores it and starts the next episode.
  kReset = 2,  // Starts an episode.
};

// Lanes that their process steps in one call, as arrays in shared memory with a row for each lane:
// docs/environment_memory.md.
struct LaneGroup {
  int64_t first_lane = 0;
  int64_t lanes = 0;
  LaneCommand* commands = nullptr;
  uint64_t* seeds = nullptr;
  int32_t* step_types = nullptr;
  float* discounts = nullptr;
  std::vector<float*> rewards;
  std::vector<char*> actions;
  std::vector<char*> observations;
};

// Checks what a process wrote into a lane's row: the step type (`begins`: an episode's first one), the discount,
// rewards and observations. INTERNAL, with the leaf's name.
absl::Status CheckRow(const EnvironmentSpec& spec, const LaneGroup& group, size_t row, bool begins);

// Memory that an actor shares with one environment process. Movable; not thread-safe.
class EnvironmentMemory {
 public:
  // Creates empty memory, with a descriptor for the process to inherit.
  static absl::StatusOr<EnvironmentMemory> Create();
  EnvironmentMemory(EnvironmentMemory&& other) noexcept;
  EnvironmentMemory& operator=(EnvironmentMemory&& other) noexcept;
  ~EnvironmentMemory();

  int descriptor() const { return descriptor_; }

  // Allocates memory for these groups of lanes, numbered from `first_lane` on, and writes the header with each array's
  // offset. Called once. RESOURCE_EXHAUSTED if there is not enough memory.
  absl::Status Arrange(const EnvironmentSpec& spec, const std::vector<int64_t>& group_lanes, int64_t first_lane);

  std::vector<LaneGroup>& groups() { return groups_; }

 private:
  explicit EnvironmentMemory(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  std::vector<LaneGroup> groups_;
};

}  // namespace waggle
