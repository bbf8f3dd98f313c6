#pragma once

#include <memory>
#include <string>
#include <utility>

#include "common/replay/ports/replay.h"
#include "replay_server/store/replay_store.h"

namespace waggle {

// A connection to a store in this process, without sockets or additional copies. Closing the store ends all calls with
// CANCELLED.
class LocalReplayConnection final : public ReplayConnection {
 public:
  explicit LocalReplayConnection(std::shared_ptr<ReplayStore> store) : store_(std::move(store)) {}

  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) override;
  absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions& options) override;
  absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions& options) override;
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) override;

 private:
  const std::shared_ptr<ReplayStore> store_;
};

}  // namespace waggle
