#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/status/cluster_client.h"

namespace waggle {

// What `waggle status` says of replay servers and their tables, with a run or without one. Pure functions.

// One line a table, and one a server that does not answer.
std::string TablesText(const std::vector<ReplayServerState>& servers);

// What they refused, by reason; empty where they refused nothing.
std::string RefusalsText(const std::vector<ReplayServerState>& servers);

// The same as lists: "tables", "unanswered" and "refusals".
void AddTables(const std::vector<ReplayServerState>& servers, nlohmann::ordered_json* json);

}  // namespace waggle
