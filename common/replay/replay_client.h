#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net/keepalive.h"
#include "common/replay/ports/replay.h"

namespace waggle {

// Where the replay servers are now, in the order in which they were given; an empty address where that is not known.
// Called from any thread, whenever one is to be reached again.
using FindReplayServers = std::function<std::vector<std::string>()>;

// The replay ports over gRPC, to the replay servers at these addresses (HOST:PORT). Several are one buffer, of which
// each holds a part (common/replay/shards): every process that uses it has to give them in the same order.
// INVALID_ARGUMENT for an address that is none or is given twice, and for none at all. With `find`, an address may be
// empty: it is not known yet, and the server is away until `find` gives one.
//
// The servers need not be there yet: what is made here connects in the background, and again after every loss, with a
// jittered pause of 0.1 to 2 s, at the address that `find` gives then. A server that came back without its tables gets
// those again that were created through this connection. Processes that use a table each create it first, so that they
// may start in any order; one that does not waits for five seconds until another one has, and then it is an error:
// NOT_FOUND.
//
// Where an experiment is named, the tables are its own: other experiments may have some of the same names on these
// servers.
//
// What is made here may outlive the connection.
absl::StatusOr<std::unique_ptr<ReplayConnection>> NewGrpcReplayConnection(
    const std::vector<std::string>& addresses, const FindReplayServers& find = nullptr,
    const std::string& experiment_id = "", const Keepalive& keepalive = kClientKeepalive);

}  // namespace waggle
