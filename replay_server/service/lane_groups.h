#pragma once

#include <algorithm>
#include <cstdint>

#include "common/base/threads/executor.h"

namespace waggle {

// Groups that take turns on the executor of a replay server: all writers get as many turns as all samplers.
enum LaneGroup {
  kOtherLanes = 0,  // Tasks without a lane.
  kInsertLanes,
  kSampleLanes,
  kLongLanes,
};

inline Executor::LaneOptions LaneOf(LaneGroup group) {
  Executor::LaneOptions options;
  options.group = group;
  return options;
}

// The lane of calls that take long. They have at most half of the threads, so that inserts and samples always go on.
inline Executor::LaneOptions LongLaneOf(const Executor& executor) {
  Executor::LaneOptions options = LaneOf(kLongLanes);
  options.max_queued = 4096;
  options.max_queued_bytes = int64_t{64} << 20;
  options.max_running = std::max(1, executor.threads() / 2);
  return options;
}

}  // namespace waggle
