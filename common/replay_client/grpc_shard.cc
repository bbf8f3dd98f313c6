#include "common/replay_client/grpc_shard.h"

#include <utility>

#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/replay_client/grpc_priority_updater.h"
#include "common/replay_client/grpc_replay_writer.h"
#include "common/replay_client/grpc_shard_sampler.h"
#include "common/tensor/array_spec.h"

namespace waggle {
namespace {

class GrpcShardWriter final : public ShardWriter {
 public:
  explicit GrpcShardWriter(std::unique_ptr<GrpcReplayWriter> writer) : writer_(std::move(writer)) {}

  absl::Status Offer(InsertBlock block) override { return writer_->Offer(std::move(block)); }
  State state() const override { return writer_->state(); }

 private:
  const std::unique_ptr<GrpcReplayWriter> writer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ShardWriter>> GrpcShard::NewWriter(const ReplayWriterOptions& options,
                                                                  std::function<void()> changed) {
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<GrpcReplayWriter> writer,
                          GrpcReplayWriter::Create(link_, options, std::move(changed)));
  return std::unique_ptr<ShardWriter>(std::make_unique<GrpcShardWriter>(std::move(writer)));
}

absl::StatusOr<std::unique_ptr<ShardSampler>> GrpcShard::NewSampler(const ReplaySamplerOptions& options, size_t shard,
                                                                    std::shared_ptr<ShardSampleReceiver> receiver) {
  return GrpcShardSampler::Create(link_, options, shard, std::move(receiver));
}

absl::StatusOr<std::unique_ptr<PriorityUpdater>> GrpcShard::NewPriorityUpdater(const std::string& table) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(table), "table"));
  return std::unique_ptr<PriorityUpdater>(std::make_unique<GrpcPriorityUpdater>(link_, table));
}

}  // namespace waggle
