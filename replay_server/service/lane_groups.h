#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/threads/executor.h"

namespace waggle {

// Who takes turns with whom on the executor of a replay server: writers together get as many as samplers together.
enum LaneGroup {
  kOtherLanes = 0,  // What has no lane of its own.
  kInsertLanes,
  kSampleLanes,
  kLongLanes,
};

inline Executor::LaneOptions LaneOf(LaneGroup group) {
  Executor::LaneOptions options;
  options.group = group;
  return options;
}

// For calls that take long and wait for each other: they have half of the threads at most, so that they never hold up
// all who insert and sample.
inline Executor::LaneOptions LongLaneOf(const Executor& executor) {
  Executor::LaneOptions options = LaneOf(kLongLanes);
  options.max_queued = 4096;
  options.max_queued_bytes = int64_t{64} << 20;
  options.max_running = std::max(1, executor.threads() / 2);
  return options;
}

}  // namespace waggle
