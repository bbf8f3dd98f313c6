#pragma once

#include <string>
#include <vector>

#include "cli/replay/replay_servers.h"

namespace waggle {

// `waggle why`: the reasons why tables wait, as text for people and as JSON for programs. Pure functions.

using Explanations = std::vector<ReplayAnswer<v1::ExplainResponse>>;
using MissingServers = std::vector<MissingReplayServer>;
using SilentWorkers = std::vector<SilentWorker>;

// First the silent workers that tables wait for. Then the worst table, its main fact in one line; then other tables
// that wait, and if `in_full` those that flow. Then the servers that did not answer, and those that were not asked.
std::string WhyText(const Explanations& explanations, const MissingServers& missing, bool in_full,
                    const SilentWorkers& silent = {});
std::string WhyJson(const Explanations& explanations, const MissingServers& missing, const SilentWorkers& silent = {});

// 0: no table waits; 3: a table waits; 4: a deadlock; 1: a server did not answer or is missing, and no table waits.
int WhyExitStatus(const Explanations& explanations, const MissingServers& missing);

}  // namespace waggle
