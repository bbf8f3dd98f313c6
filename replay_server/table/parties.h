#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "replay_server/table/requester.h"
#include "replay_server/table/table_picture.h"

// Who is at a table, in words.

namespace waggle {

// "1 sampler is connected: learner (sampled 93 s ago), …", those who are there first; or that there is nobody.
std::string DescribeParties(const TablePicture& picture, Requester::Kind kind);

// Says of everyone at several tables of a server where else they wait: who waits for room in one table writes to none.
void LinkWaits(std::vector<TablePicture>* pictures);

// "2.1 s", "93 s".
std::string SecondsText(absl::Duration duration);

}  // namespace waggle
