#pragma once

#include <string>
#include <vector>

#include "cli/replay/replay_servers.h"

namespace waggle {

// `waggle inspect`: the contents of a table, as text for people and as JSON for programs. Pure functions.

using Inspections = std::vector<ReplayAnswer<v1::InspectResponse>>;

// The statistics, if present, and the items.
std::string InspectText(const std::string& table, const Inspections& inspections);
// One item with its columns: small arrays in full, large ones summed up.
std::string ItemText(const std::string& table, const ReplayAnswer<v1::InspectResponse>& inspection);
// All fields, with columns in full.
std::string InspectJson(const std::string& table, const Inspections& inspections);

}  // namespace waggle
