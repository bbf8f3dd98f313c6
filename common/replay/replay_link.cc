#include "common/replay/replay_link.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/host_port.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/config/table/table_name.h"
#include "common/net/channel.h"
#include "common/net/retry.h"
#include "common/net/unary_call.h"
#include "common/replay/table_config_convert.h"

namespace waggle {
namespace {

constexpr absl::Duration kCreateTimeout = absl::Seconds(5);
// A server writes all rows that are not on its disk yet.
constexpr absl::Duration kCheckpointTimeout = absl::Hours(1);
// No server can listen at this port, so that connections are refused at once.
constexpr char kNowhere[] = "127.0.0.1:0";

std::string TargetOf(const std::string& address) {
  return address.empty() ? kNowhere : address;
}

}  // namespace

ReplayLink::ReplayLink(const std::string& address, Find find, const Keepalive& keepalive, std::string experiment_id)
    : find_(std::move(find)),
      keepalive_(keepalive),
      experiment_id_(std::move(experiment_id)),
      address_(address),
      stub_(NewStub(address)) {}

std::string ReplayLink::NameThere(const std::string& table) const {
  return TableNameOf(experiment_id_, table);
}

std::shared_ptr<v1::ReplayService::StubInterface> ReplayLink::NewStub(const std::string& address) const {
  return v1::ReplayService::NewStub(NewChannel(TargetOf(address), "replay-control", keepalive_));
}

std::string ReplayLink::address() const {
  MutexLock lock(&mutex_);
  return address_.empty() ? "an address that is not known yet" : address_;
}

std::shared_ptr<v1::ReplayService::StubInterface> ReplayLink::stub() const {
  MutexLock lock(&mutex_);
  return stub_;
}

std::string ReplayLink::FindAgain() {
  const std::string found = find_ ? find_() : std::string();
  std::string before;
  {
    MutexLock lock(&mutex_);
    before = address_;
  }
  if (found.empty() || found == before || !ValidateHostPort(found).ok()) {
    return TargetOf(before);
  }
  std::shared_ptr<v1::ReplayService::StubInterface> stub = NewStub(found);  // Outside the lock, like the log.
  {
    MutexLock lock(&mutex_);
    before = std::exchange(address_, found);
    stub_.swap(stub);
  }
  if (before != found) {
    LogInfo("the replay server ", before.empty() ? "" : absl::StrCat("that was at ", before, " "), "is at ", found,
            " now");
  }
  return found;
}

absl::Status ReplayLink::CreateTable(const TableConfig& config, const StopToken& stop) {
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  Backoff backoff = NewReconnectBackoff();
  bool logged = false;
  for (;;) {
    const absl::Status status = TryCreate(config, stop);
    if (status.ok()) {
      WantTable(config);
      return status;
    }
    if (stop.StopRequested()) {
      return absl::CancelledError(absl::StrCat("stopped while creating table ", config.name));
    }
    if (!MayPass(status)) {
      return status;
    }
    if (!logged) {
      LogInfo("waiting for the replay server at ", address(), ": ", status.message());
      logged = true;
    }
    stop.WaitFor(backoff.Next());
    FindAgain();
  }
}

void ReplayLink::WantTable(const TableConfig& config) {
  MutexLock lock(&mutex_);
  tables_[config.name] = config;
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

absl::Status ReplayLink::Checkpoint(const ReplayCut& cut, const StopToken& stop) {
  v1::CheckpointRequest request;
  request.set_cut(cut.number);
  request.set_experiment_id(experiment_id_);
  request.mutable_kept_cuts()->Add(cut.kept.begin(), cut.kept.end());
  request.set_begin_anew(cut.begin_anew);
  const auto call = [&] {
    const std::shared_ptr<v1::ReplayService::StubInterface> stub = this->stub();
    return CallUnary(stub.get(), &v1::ReplayService::StubInterface::Checkpoint, request, kCheckpointTimeout, stop)
        .status();
  };
  absl::Status status = call();
  // The server may have another address now. A cut that is made twice is the same.
  if (absl::IsUnavailable(status) && !stop.StopRequested()) {
    FindAgain();
    status = call();
  }
  return stop.StopRequested() && !status.ok() ? absl::CancelledError("stopped while a checkpoint was made") : status;
}

absl::Status ReplayLink::TryCreate(const TableConfig& config, const StopToken& stop) {
  const std::shared_ptr<v1::ReplayService::StubInterface> stub = this->stub();
  v1::CreateTableRequest request;
  *request.mutable_config() = ToProto(config);
  request.mutable_config()->set_name(NameThere(config.name));
  const auto response =
      CallUnary(stub.get(), &v1::ReplayService::StubInterface::CreateTable, request, kCreateTimeout, stop);
  return Annotate(response.status(), absl::StrCat("replay server ", address()));
}

}  // namespace waggle
