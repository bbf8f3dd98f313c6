#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/base/threads/thread.h"
#include "learner/group/collective.h"
#include "tests/param_server/group_store_server.h"

namespace waggle::testing {

// Runs `act` for each member of a group, in its own thread, with its rank and its collective. Returns the results.
inline std::vector<absl::Status> ActTogether(int size,
                                             const std::function<absl::Status(int rank, Collective* collective)>& act,
                                             const StopToken& abandoned = {}) {
  const GroupStoreServer server;
  std::vector<absl::Status> results(static_cast<size_t>(size));
  std::vector<Thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back("member", [&, rank] {
      const std::unique_ptr<KeyStore> store = server.Client();
      auto collective = Collective::Connect({rank, size, "127.0.0.1"}, store.get(), abandoned);
      results[static_cast<size_t>(rank)] = collective.ok() ? act(rank, collective->get()) : collective.status();
    });
  }
  threads.clear();
  return results;
}

}  // namespace waggle::testing
