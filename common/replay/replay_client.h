#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/keepalive.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// Returns each server's current address, in the given order; empty if unknown. Called from any thread to reconnect.
using FindReplayServers = std::function<std::vector<std::string>()>;

// The replay ports over gRPC. Several servers (HOST:PORT) are one sharded buffer (common/replay/shards): all processes
// that use it must name them in the same order. INVALID_ARGUMENT if there is no address, an address is not valid, or it
// is given twice. With `find`, an address may be empty: that server is away until `find` returns one.
//
// Connects in the background, and again after every loss, with a jittered pause of 0.1 to 2 s. If a server has lost its
// tables, this connection creates its own again. Each process creates its tables first, so that processes may start in
// any order. Uses of a missing table wait five seconds, then fail with NOT_FOUND.
//
// With `experiment_id`, the tables belong to that experiment. Other experiments may use the same names. Writers,
// samplers and updaters may outlive the connection.
absl::StatusOr<std::unique_ptr<ReplayConnection>> NewGrpcReplayConnection(
    const std::vector<std::string>& addresses, const FindReplayServers& find = nullptr,
    const std::string& experiment_id = "", const Keepalive& keepalive = kClientKeepalive);

}  // namespace waggle
