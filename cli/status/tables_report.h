#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/status/cluster_client.h"

namespace waggle {

// The parts of `waggle status` about replay servers and their tables, with or without a run. Pure functions.

// One line per table, and one per server that does not answer.
std::string TablesText(const std::vector<ReplayServerState>& servers);

// The servers' refusals by reason; empty if there are none.
std::string RefusalsText(const std::vector<ReplayServerState>& servers);

// The same as lists: "tables", "unanswered" and "refusals".
void AddTables(const std::vector<ReplayServerState>& servers, nlohmann::ordered_json* json);

}  // namespace waggle
