#pragma once

#include <cstdint>
#include <string>

#include "common/hub/ports/pool.h"
#include "param_server/pool/run_needs.h"

// Texts about the members of a pool and their work.

namespace waggle {

// "2 learners with cuda".
std::string Describe(const SeatGroup& group, const std::string& environment, int64_t count);

// "actor 2 of cartpole-x7k2p".
std::string NameOf(const WorkOrder& order);

// Escapes control characters in a text of another process: they could begin another line of a log or move a cursor.
std::string OneLine(const std::string& text);

// "actor-4711-0123456789abcdef on host-a".
std::string Whereabouts(const std::string& worker_id, const std::string& host);

}  // namespace waggle
