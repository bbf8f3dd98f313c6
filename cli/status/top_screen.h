#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/status/pool_snapshot.h"

namespace waggle {

// The order of the workers in `waggle top`, by the key that chooses it.
enum class TopOrder { kWaiting = 'w', kRate = 'r', kMemory = 'm' };

// `waggle top`: a hub's running and waiting experiments, the busiest first, each with its rates, its shares of waiting
// and its slow station, then their workers. Lines of printable characters: at most `height`, each of at most `width`.
// Pure.
std::vector<std::string> TopScreen(const PoolSnapshot& snapshot, TopOrder order, absl::Time now, size_t width,
                                   size_t height);

}  // namespace waggle
