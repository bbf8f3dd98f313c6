#include "common/clients/replay_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/host_port.h"
#include "common/base/status_macros.h"
#include "common/clients/grpc_priority_updater.h"
#include "common/clients/grpc_replay_sampler.h"
#include "common/clients/grpc_replay_writer.h"
#include "common/clients/replay_link.h"

namespace waggle {
namespace {

class GrpcReplayConnection final : public ReplayConnection {
 public:
  explicit GrpcReplayConnection(const std::string& address) : link_(std::make_shared<ReplayLink>(address)) {}

  absl::Status CreateTable(const TableConfig& config, const StopToken& stop) override {
    return link_->CreateTable(config, stop);
  }

  absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions& options) override {
    return GrpcReplayWriter::Create(link_, options);
  }

  absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions& options) override {
    return GrpcReplaySampler::Create(link_, options);
  }

  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string& table) override {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(table), "table"));
    return std::unique_ptr<PriorityUpdater>(std::make_unique<GrpcPriorityUpdater>(link_, table));
  }

 private:
  const std::shared_ptr<ReplayLink> link_;  // Shared with what is made here, which may live longer.
};

}  // namespace

absl::StatusOr<std::unique_ptr<ReplayConnection>> NewGrpcReplayConnection(const std::vector<std::string>& addresses) {
  if (addresses.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("got ", addresses.size(), " replay servers (", absl::StrJoin(addresses, ", "),
                     "); this version needs exactly 1: a buffer spread over several servers is not available in it"));
  }
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateHostPort(addresses.front()), "replay server"));
  return std::unique_ptr<ReplayConnection>(std::make_unique<GrpcReplayConnection>(addresses.front()));
}

}  // namespace waggle
