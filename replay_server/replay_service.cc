#include "replay_server/replay_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "common/clients/replay_convert.h"
#include "common/rpc/bidi_reactor.h"
#include "common/rpc/status_convert.h"

namespace waggle {
namespace {

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

template <class T>
absl::Span<const T> SpanOf(const google::protobuf::RepeatedField<T>& field) {
  return absl::MakeConstSpan(field.data(), field.size());
}

absl::Status CheckLength(absl::string_view list, int length, int keys) {
  if (length == keys) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("got ", keys, " keys and ", length, " ", list));
}

void Fill(const Table& table, v1::TableInfo* proto) {
  const Table::Info info = table.info();
  *proto->mutable_config() = ToProto(table.config());
  proto->set_items(info.items);
  proto->set_bytes(info.bytes);
  proto->set_items_inserted(info.items_inserted);
  proto->set_items_sampled(info.items_sampled);
  proto->set_items_removed(info.items_removed);
  proto->set_priorities_applied(info.priority_updates.applied);
  proto->set_priorities_stale(info.priority_updates.stale);
  proto->set_priorities_unknown(info.priority_updates.unknown);
  proto->set_inserts_waiting(info.inserts_waiting);
  proto->set_samples_waiting(info.samples_waiting);
  proto->set_blocked_because(info.blocked_because);
  proto->set_priority_sum(info.priority_sum);
}

}  // namespace

grpc::ServerUnaryReactor* ReplayService::CreateTable(grpc::CallbackServerContext* context,
                                                     const v1::CreateTableRequest* request,
                                                     v1::CreateTableResponse* response) {
  const absl::StatusOr<TableConfig> config = FromProto(request->config());
  if (!config.ok()) {
    return Answer(context, config.status());
  }
  const absl::StatusOr<bool> created = store_->CreateTable(*config);
  response->set_created(created.ok() && *created);
  return Answer(context, created.status());
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReplayService::Insert(
    grpc::CallbackServerContext* /*context*/) {
  return new BidiReactor<v1::InsertRequest, v1::InsertResponse>(
      std::make_unique<InsertStream>(store_, executor_, options_.insert));
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReplayService::Sample(
    grpc::CallbackServerContext* /*context*/) {
  return new BidiReactor<v1::SampleRequest, v1::SampleResponse>(
      std::make_unique<SampleStream>(store_, executor_, options_.sample));
}

grpc::ServerUnaryReactor* ReplayService::UpdatePriorities(grpc::CallbackServerContext* context,
                                                          const v1::UpdatePrioritiesRequest* request,
                                                          v1::UpdatePrioritiesResponse* response) {
  return Answer(context, UpdatePriorities(*request, response));
}

absl::Status ReplayService::UpdatePriorities(const v1::UpdatePrioritiesRequest& request,
                                             v1::UpdatePrioritiesResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, store_->FindTable(request.table()));
  WAGGLE_RETURN_IF_ERROR(CheckLength("generations", request.generations_size(), request.keys_size()));
  WAGGLE_RETURN_IF_ERROR(CheckLength("priorities", request.priorities_size(), request.keys_size()));
  WAGGLE_ASSIGN_OR_RETURN(
      const PriorityUpdateCounts counts,
      table->UpdatePriorities(SpanOf(request.keys()), SpanOf(request.generations()), SpanOf(request.priorities())));
  response->set_applied(counts.applied);
  response->set_stale(counts.stale);
  response->set_unknown(counts.unknown);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* ReplayService::Delete(grpc::CallbackServerContext* context, const v1::DeleteRequest* request,
                                                v1::DeleteResponse* response) {
  return Answer(context, Delete(*request, response));
}

absl::Status ReplayService::Delete(const v1::DeleteRequest& request, v1::DeleteResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, store_->FindTable(request.table()));
  WAGGLE_RETURN_IF_ERROR(CheckLength("generations", request.generations_size(), request.keys_size()));
  const PriorityUpdateCounts counts = table->Delete(SpanOf(request.keys()), SpanOf(request.generations()));
  response->set_deleted(counts.applied);
  response->set_stale(counts.stale);
  response->set_unknown(counts.unknown);
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* ReplayService::Clear(grpc::CallbackServerContext* context, const v1::ClearRequest* request,
                                               v1::ClearResponse* response) {
  const absl::StatusOr<std::shared_ptr<Table>> table = store_->FindTable(request->table());
  if (!table.ok()) {
    return Answer(context, table.status());
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  // Freeing the rows of a large table takes long.
  const absl::Status submitted = executor_->Submit([reactor, response, table = *table] {
    response->set_deleted(table->Clear());
    reactor->Finish(grpc::Status::OK);
  });
  return submitted.ok() ? reactor : Answer(context, absl::UnavailableError("the replay server is too busy"));
}

grpc::ServerUnaryReactor* ReplayService::Describe(grpc::CallbackServerContext* context,
                                                  const v1::DescribeRequest* /*request*/,
                                                  v1::DescribeResponse* response) {
  for (const std::shared_ptr<Table>& table : store_->tables()) {
    Fill(*table, response->add_tables());
  }
  return Answer(context, absl::OkStatus());
}

}  // namespace waggle
