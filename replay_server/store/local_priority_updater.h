#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/api/replay.h"
#include "replay_server/table/table.h"

namespace waggle {

// The port to a table in this process. However many updates come, it waits for two answers of the table's log at most:
// of those under way, and of all that came since.
class LocalPriorityUpdater final : public PriorityUpdater {
 public:
  explicit LocalPriorityUpdater(std::shared_ptr<Table> table);

  absl::Status Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                      std::vector<double> priorities) override;
  absl::Status Flush(absl::Duration timeout) override;
  PriorityUpdateCounts counts() const override;

 private:
  struct State;

  // Counts those under way once they are as safe as the table promises, and goes on with the next ones.
  static void AwaitCommit(const std::shared_ptr<State>& state);

  const std::shared_ptr<Table> table_;
  const std::shared_ptr<State> state_;  // Shared with what the table answers, which may come after the updater.
};

}  // namespace waggle
