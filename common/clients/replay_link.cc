#include "common/clients/replay_link.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/clients/replay_convert.h"
#include "common/clients/retry.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_call.h"

namespace waggle {
namespace {

constexpr absl::Duration kCreateTimeout = absl::Seconds(5);

}  // namespace

ReplayLink::ReplayLink(const std::string& address)
    : address_(address), stub_(v1::ReplayService::NewStub(NewChannel(address, "replay-control"))) {}

absl::Status ReplayLink::CreateTable(const TableConfig& config, const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  Backoff backoff = NewReconnectBackoff();
  bool logged = false;
  for (;;) {
    const absl::Status status = TryCreate(config, stop);
    if (status.ok()) {
      MutexLock lock(&mutex_);
      tables_[config.name] = config;
      return status;
    }
    if (stop.StopRequested()) {
      return absl::CancelledError(absl::StrCat("stopped while creating table ", config.name));
    }
    if (!MayPass(status)) {
      return status;
    }
    if (!logged) {
      LogInfo("waiting for the replay server at ", address_, ": ", status.message());
      logged = true;
    }
    stop.WaitFor(backoff.Next());
  }
}

bool ReplayLink::HasCreated(const std::string& table) const {
  MutexLock lock(&mutex_);
  return tables_.count(table) > 0;
}

absl::Status ReplayLink::RestoreTables(const StopToken& stop) {
  std::vector<TableConfig> tables;
  {
    MutexLock lock(&mutex_);
    for (const auto& [name, config] : tables_) {
      tables.push_back(config);
    }
  }
  for (const TableConfig& config : tables) {
    WAGGLE_RETURN_IF_ERROR(TryCreate(config, stop));
  }
  return absl::OkStatus();
}

absl::Status ReplayLink::TryCreate(const TableConfig& config, const StopToken& stop) const {
  v1::CreateTableRequest request;
  *request.mutable_config() = ToProto(config);
  v1::CreateTableResponse response;
  return Annotate(
      CallUnary(kCreateTimeout, stop,
                [&](grpc::ClientContext* context) { return stub_->CreateTable(context, request, &response); }),
      absl::StrCat("replay server ", address_));
}

}  // namespace waggle
