#include "common/replay/replay_client.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/host_port.h"
#include "common/base/status_macros.h"
#include "common/config/table/shard_config.h"
#include "common/replay/grpc_priority_updater.h"
#include "common/replay/grpc_shard_sampler.h"
#include "common/replay/grpc_shard_writer.h"
#include "common/replay/replay_link.h"
#include "common/replay/shards/sharded_connection.h"

namespace waggle {
namespace {

class GrpcShard final : public Shard {
 public:
  explicit GrpcShard(std::shared_ptr<ReplayLink> link) : link_(std::move(link)) {}

  std::string name() const override { return link_->address(); }
  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) override {
    return link_->CreateTable(config, stop);
  }
  void WantTable(const TableConfig& config) override { link_->WantTable(config); }
  absl::Status Checkpoint(const ReplayCut& cut, const StopToken& stop) override { return link_->Checkpoint(cut, stop); }

  absl::StatusOr<std::unique_ptr<ShardWriter>> NewWriter(const ReplayWriterOptions& options,
                                                         std::function<void()> changed) override {
    return std::make_unique<GrpcShardWriter>(link_, options, std::move(changed));
  }
  absl::StatusOr<std::unique_ptr<ShardSampler>> NewSampler(const ReplaySamplerOptions& options, size_t shard,
                                                           std::shared_ptr<ShardSampleReceiver> receiver) override {
    return GrpcShardSampler::Create(link_, options, shard, std::move(receiver));
  }
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) override {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(table), "table"));
    return std::make_unique<GrpcPriorityUpdater>(link_, table);
  }

 private:
  const std::shared_ptr<ReplayLink> link_;  // Shared with its writers, samplers and updaters, which may outlive it.
};

}  // namespace

absl::StatusOr<std::unique_ptr<ReplayConnection>> NewGrpcReplayConnection(const std::vector<std::string>& addresses,
                                                                          const FindReplayServers& find,
                                                                          const std::string& experiment_id,
                                                                          const Keepalive& keepalive) {
  if (addresses.empty() || addresses.size() > static_cast<size_t>(kMaxShards)) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", addresses.size(), " replay servers; wanted 1 to ", kMaxShards));
  }
  std::vector<std::shared_ptr<Shard>> shards;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (!(find && addresses[i].empty())) {
      WAGGLE_RETURN_IF_ERROR(Annotate(ValidateHostPort(addresses[i]), absl::StrCat("replay server ", i)));
      if (std::find(addresses.begin(), addresses.begin() + i, addresses[i]) != addresses.begin() + i) {
        return absl::InvalidArgumentError(absl::StrCat("replay server ", i, ": ", addresses[i], " is given twice"));
      }
    }
    ReplayLink::Find find_one;
    if (find) {
      find_one = [find, i] {
        const std::vector<std::string> found = find();
        return i < found.size() ? found[i] : std::string();
      };
    }
    shards.push_back(std::make_shared<GrpcShard>(
        std::make_shared<ReplayLink>(addresses[i], std::move(find_one), keepalive, experiment_id)));
  }
  return std::unique_ptr<ReplayConnection>(std::make_unique<ShardedReplayConnection>(std::move(shards)));
}

}  // namespace waggle
