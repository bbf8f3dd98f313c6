#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "replay_server/table/table_client.h"
#include "replay_server/table/table_picture.h"

// Descriptions of a table's writers and samplers.

namespace waggle {

// "1 sampler is connected: learner (sampled 93 s ago), …", connected ones first.
std::string DescribeClients(const TablePicture& picture, TableClient::Kind kind);

// Sets `waits_at` of all clients: a writer that waits for room in one table cannot write to others.
void LinkWaits(std::vector<TablePicture>* pictures);

// "2.1 s", "93 s".
std::string SecondsText(absl::Duration duration);

}  // namespace waggle
