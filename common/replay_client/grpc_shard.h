#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/replay_client/replay_link.h"
#include "common/replay_client/shards/shard.h"

namespace waggle {

// A shard over gRPC: the replay server of a link.
class GrpcShard final : public Shard {
 public:
  explicit GrpcShard(std::shared_ptr<ReplayLink> link) : link_(std::move(link)) {}

  std::string name() const override { return link_->address(); }
  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) override {
    return link_->CreateTable(config, stop);
  }
  void WantTable(const TableConfig& config) override { link_->WantTable(config); }
  absl::StatusOr<std::unique_ptr<ShardWriter>> NewWriter(const ReplayWriterOptions& options,
                                                         std::function<void()> changed) override;
  absl::StatusOr<std::unique_ptr<ShardSampler>> NewSampler(const ReplaySamplerOptions& options, size_t shard,
                                                           std::shared_ptr<ShardSampleReceiver> receiver) override;
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) override;

 private:
  const std::shared_ptr<ReplayLink> link_;  // Shared with what is made here, which may live longer.
};

}  // namespace waggle
