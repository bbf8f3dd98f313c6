#pragma once

#include <string>
#include <vector>

#include "cli/replay/replay_servers.h"

namespace waggle {

// `waggle inspect`: what is in a table, for people and for programs. Pure functions.

using Inspections = std::vector<ReplayAnswer<v1::InspectResponse>>;

// The statistics, where they are there, and the items.
std::string InspectText(const std::string& table, const Inspections& inspections);
// One item with its columns: small arrays whole, large ones summed up.
std::string ItemText(const std::string& table, const ReplayAnswer<v1::InspectResponse>& inspection);
// All there is; columns in full.
std::string InspectJson(const std::string& table, const Inspections& inspections);

}  // namespace waggle
