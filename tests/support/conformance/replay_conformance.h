#pragma once

#include <functional>
#include <memory>

#include "common/replay/ports/replay.h"

namespace waggle::testing {

// Makes a connection to a fresh store without tables. Its server lives as long as the connection.
using NewReplay = std::function<std::shared_ptr<ReplayConnection>()>;

// Checks of every form of the replay port, as sections of the calling test case. The chosen section runs on one fresh
// connection. If the buffer is spread over several servers, tables are larger in proportion, so that one stream, which
// stays on one server, has the same room as on a single server.
void CheckReplayConformance(const NewReplay& new_replay, int64_t servers = 1);
// Checks that a sampler with a prefetch of 0 gets the items that exist when it asks.
void CheckSamplerAsksInTime(const NewReplay& new_replay, int64_t servers = 1);
// The same for a table's view, selectors and compression.
void CheckReplayViewConformance(const NewReplay& new_replay, int64_t servers = 1);

}  // namespace waggle::testing
