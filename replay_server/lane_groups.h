#pragma once

#include "common/base/executor.h"

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

}  // namespace waggle
