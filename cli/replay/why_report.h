#pragma once

#include <string>
#include <vector>

#include "cli/replay/replay_servers.h"

namespace waggle {

// `waggle why`: what tables wait for, for people and for programs. Pure functions.

using Explanations = std::vector<ReplayAnswer<v1::ExplainResponse>>;
using MissingServers = std::vector<MissingReplayServer>;
using SilentWorkers = std::vector<SilentWorker>;

// First the workers that tables wait for and that are silent. Then the worst table, in one line that says what matters;
// more of those that wait, and of flowing ones too where `in_full`. Then the servers of which nothing is known: those
// that did not answer, and those that were not asked.
std::string WhyText(const Explanations& explanations, const MissingServers& missing, bool in_full,
                    const SilentWorkers& silent = {});
std::string WhyJson(const Explanations& explanations, const MissingServers& missing, const SilentWorkers& silent = {});

// 0: everything flows; 3: somebody waits; 4: a deadlock; 1: a server did not answer or is missing, and there is nothing
// worse.
int WhyExitStatus(const Explanations& explanations, const MissingServers& missing);

}  // namespace waggle
