#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/replay/ports/replay.h"
#include "replay_server/table/table.h"

namespace waggle {

// Updates a table in this process. Waits for one answer of the table's log at a time; later updates share the next.
class LocalPriorityUpdater final : public PriorityUpdater {
 public:
  explicit LocalPriorityUpdater(std::shared_ptr<Table> table);

  absl::Status Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                      std::vector<double> priorities) override;
  absl::Status Flush(absl::Duration timeout) override;
  PriorityUpdateCounts counts() const override;

 private:
  struct State;

  // Waits until the current updates are as safe as the table promises, counts them, and continues with the next.
  static void AwaitCommit(const std::shared_ptr<State>& state);

  const std::shared_ptr<Table> table_;
  const std::shared_ptr<State> state_;  // Shared with the table's answers, which may outlive the updater.
};

}  // namespace waggle
