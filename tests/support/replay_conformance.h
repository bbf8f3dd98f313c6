#pragma once

#include <functional>
#include <memory>

#include "common/api/replay.h"

namespace waggle::testing {

// Makes a connection to a fresh store without tables. Whatever serves it lives as long as the connection.
using NewReplay = std::function<std::shared_ptr<ReplayConnection>()>;

// What every form of the replay port has to do, as sections of the calling test case. The chosen one runs on one fresh
// connection.
void CheckReplayConformance(const NewReplay& new_replay);

}  // namespace waggle::testing
