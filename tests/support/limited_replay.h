#pragma once

#include <memory>
#include <string>
#include <utility>

#include "common/replay/ports/replay.h"

namespace waggle::testing {

// A connection whose tables all have a memory_limit that is far too small for them.
class LimitedReplayConnection final : public ReplayConnection {
 public:
  // `keeps` lives as long as this and is destroyed after the connection.
  LimitedReplayConnection(std::shared_ptr<ReplayConnection> connection, int64_t limit,
                          std::shared_ptr<void> keeps = nullptr)
      : keeps_(std::move(keeps)), connection_(std::move(connection)), limit_(limit) {}

  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) override {
    return connection_->CreateTable(Limited(config), stop);
  }
  absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions& options) override {
    return connection_->NewWriter(options);
  }
  absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions& options) override {
    ReplaySamplerOptions limited = options;
    limited.table = Limited(options.table);
    return connection_->NewSampler(limited);
  }
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) override {
    return connection_->NewPriorityUpdater(table);
  }

 private:
  TableConfig Limited(TableConfig config) const {
    config.memory_limit = limit_;
    return config;
  }

  const std::shared_ptr<void> keeps_;
  const std::shared_ptr<ReplayConnection> connection_;
  const int64_t limit_;
};

}  // namespace waggle::testing
