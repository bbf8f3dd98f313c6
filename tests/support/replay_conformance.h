#pragma once

#include <functional>
#include <memory>

#include "common/api/replay.h"

namespace waggle::testing {

// Makes a connection to a fresh store without tables. Whatever serves it lives as long as the connection.
using NewReplay = std::function<std::shared_ptr<ReplayConnection>()>;

// What every form of the replay port has to do, as sections of the calling test case. The chosen one runs on one fresh
// connection. Where the buffer is spread over several servers, tables are so much larger that one stream, which stays
// on one server, finds what it would find on one alone.
void CheckReplayConformance(const NewReplay& new_replay, int64_t servers = 1);
// That a sampler with a prefetch of 0 is given what there is when it asks. Of one server: where a buffer is spread over
// several, batches are drawn ahead in any case.
void CheckSamplerAsksInTime(const NewReplay& new_replay);
// The same of what a table's view, selectors and compression say.
void CheckReplayViewConformance(const NewReplay& new_replay, int64_t servers = 1);

}  // namespace waggle::testing
