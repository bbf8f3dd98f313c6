#include "common/replay/replay_tables.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/nearest_name.h"
#include "common/base/status_macros.h"
#include "common/net/channel.h"
#include "common/net/unary_call.h"
#include "common/replay/table_config_convert.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {
namespace {

absl::StatusOr<TableStatus> StatusOf(const v1::TableInfo& info) {
  TableStatus status;
  WAGGLE_ASSIGN_OR_RETURN(status.config, FromProto(info.config()));
  status.config_generation = info.config_generation();
  status.items = info.items();
  status.bytes = info.bytes();
  status.items_inserted = info.items_inserted();
  status.items_sampled = info.items_sampled();
  status.items_removed = info.items_removed();
  status.priority_updates = {info.priorities_applied(), info.priorities_stale(), info.priorities_unknown()};
  status.inserts_waiting = info.inserts_waiting();
  status.samples_waiting = info.samples_waiting();
  status.blocked_because = info.blocked_because();
  status.priority_sum = info.priority_sum();
  return status;
}

}  // namespace

class ReplayTables::Stub {
 public:
  explicit Stub(const std::string& address) : stub_(v1::ReplayService::NewStub(NewChannel(address, "replay-tables"))) {}

  template <class Request, class Response>
  absl::StatusOr<Response> Call(const ReplayTables& tables,
                                StubMethod<v1::ReplayService::Stub, Request, Response> method, const Request& request) {
    absl::StatusOr<Response> response = CallUnary(stub_.get(), method, request, tables.timeout_);
    if (!response.ok()) {
      return Annotate(response.status(), absl::StrCat("replay server ", tables.address_));
    }
    return response;
  }

 private:
  const std::unique_ptr<v1::ReplayService::Stub> stub_;
};

ReplayTables::ReplayTables(const std::string& address, absl::Duration timeout)
    : address_(address), timeout_(timeout), stub_(std::make_unique<Stub>(address)) {}

ReplayTables::~ReplayTables() = default;

absl::StatusOr<bool> ReplayTables::Create(const TableConfig& config) {
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  v1::CreateTableRequest request;
  *request.mutable_config() = ToProto(config);
  WAGGLE_ASSIGN_OR_RETURN(const v1::CreateTableResponse response,
                          stub_->Call(*this, &v1::ReplayService::Stub::CreateTable, request));
  return response.created();
}

absl::StatusOr<std::vector<TableStatus>> ReplayTables::List() {
  WAGGLE_ASSIGN_OR_RETURN(const v1::DescribeResponse response,
                          stub_->Call(*this, &v1::ReplayService::Stub::Describe, v1::DescribeRequest()));
  std::vector<TableStatus> tables;
  for (const v1::TableInfo& info : response.tables()) {
    WAGGLE_ASSIGN_OR_RETURN(TableStatus table, StatusOf(info));
    tables.push_back(std::move(table));
  }
  return tables;
}

absl::StatusOr<TableStatus> ReplayTables::Get(const std::string& table) {
  WAGGLE_ASSIGN_OR_RETURN(std::vector<TableStatus> tables, List());
  std::vector<std::string> names;
  for (TableStatus& candidate : tables) {
    if (candidate.config.name == table) {
      return std::move(candidate);
    }
    names.push_back(candidate.config.name);
  }
  return absl::NotFoundError(absl::StrCat("replay server ", address_, ": no table named \"", table, "\"",
                                          DidYouMean(table, names), "; the server has ",
                                          names.empty() ? "no tables" : "", absl::StrJoin(names, ", ")));
}

absl::StatusOr<TableChange> ReplayTables::Reconfigure(const TableConfig& config, uint64_t generation, bool dry_run) {
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  v1::ReconfigureRequest request;
  *request.mutable_config() = ToProto(config);
  request.set_config_generation(generation);
  request.set_dry_run(dry_run);
  WAGGLE_ASSIGN_OR_RETURN(const v1::ReconfigureResponse response,
                          stub_->Call(*this, &v1::ReplayService::Stub::Reconfigure, request));
  return TableChange{{response.differences().begin(), response.differences().end()},
                     response.items_removed(),
                     response.config_generation()};
}

absl::StatusOr<PriorityUpdateCounts> ReplayTables::Delete(const std::string& table, const std::vector<uint64_t>& keys,
                                                          const std::vector<uint64_t>& generations) {
  v1::DeleteRequest request;
  request.set_table(table);
  request.mutable_keys()->Add(keys.begin(), keys.end());
  request.mutable_generations()->Add(generations.begin(), generations.end());
  WAGGLE_ASSIGN_OR_RETURN(const v1::DeleteResponse response,
                          stub_->Call(*this, &v1::ReplayService::Stub::Delete, request));
  return PriorityUpdateCounts{response.deleted(), response.stale(), response.unknown()};
}

absl::StatusOr<PriorityUpdateCounts> ReplayTables::UpdatePriorities(const std::string& table,
                                                                    const std::vector<uint64_t>& keys,
                                                                    const std::vector<uint64_t>& generations,
                                                                    const std::vector<double>& priorities) {
  v1::UpdatePrioritiesRequest request;
  request.set_table(table);
  request.mutable_keys()->Add(keys.begin(), keys.end());
  request.mutable_generations()->Add(generations.begin(), generations.end());
  request.mutable_priorities()->Add(priorities.begin(), priorities.end());
  WAGGLE_ASSIGN_OR_RETURN(const v1::UpdatePrioritiesResponse response,
                          stub_->Call(*this, &v1::ReplayService::Stub::UpdatePriorities, request));
  return PriorityUpdateCounts{response.applied(), response.stale(), response.unknown()};
}

absl::StatusOr<uint64_t> ReplayTables::Clear(const std::string& table) {
  v1::ClearRequest request;
  request.set_table(table);
  WAGGLE_ASSIGN_OR_RETURN(const v1::ClearResponse response,
                          stub_->Call(*this, &v1::ReplayService::Stub::Clear, request));
  return response.deleted();
}

}  // namespace waggle
