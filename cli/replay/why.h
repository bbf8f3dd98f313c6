#pragma once

#include <string>

#include "absl/time/time.h"
#include "cli/replay/replay_servers.h"
#include "cli/replay/why_report.h"

namespace waggle {

// Asks every server about a table, or about all tables of the experiment if `table` is empty. Tables have plain names
// in the answers.
Explanations AskWhy(const std::string& table, absl::Duration timeout, ReplayServers* servers);

}  // namespace waggle
