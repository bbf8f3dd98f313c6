#include "replay_server/replay_service.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/types/span.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/clients/replay_convert.h"
#include "common/clients/table_config_convert.h"
#include "common/rpc/bidi_reactor.h"
#include "common/rpc/unary_method.h"
#include "common/rpc/write_reactor.h"
#include "replay_server/explain_convert.h"
#include "replay_server/export_source.h"
#include "replay_server/inspect_convert.h"
#include "replay_server/table/explain.h"
#include "replay_server/table/parties.h"

namespace waggle {
namespace {

// Of updates and deletions, of which some hundred thousand may come at a time; their lists of numbers are as large in
// memory as on the wire.
constexpr size_t kMaxKeysBytes = kMaxHeaderBytes;

// Of one item's columns, which go into one message.
constexpr uint64_t kMaxInspectedBytes = uint64_t{32} << 20;

template <class T>
absl::Span<const T> SpanOf(const google::protobuf::RepeatedField<T>& field) {
  return absl::MakeConstSpan(field.data(), field.size());
}

// HOST:PORT, of what gRPC calls "ipv4:HOST:PORT" or "ipv6:%5BHOST%5D:PORT".
std::string PeerOf(const grpc::CallbackServerContext& context) {
  const std::string peer = context.peer();
  if (absl::StartsWith(peer, "ipv4:") || absl::StartsWith(peer, "ipv6:")) {
    return absl::StrReplaceAll(peer.substr(5), {{"%5B", "["}, {"%5D", "]"}});
  }
  return peer;
}

// Who changed what: for whoever wonders later why a table behaves as it does.
void Audit(const std::string& table, const std::string& who, const absl::StatusOr<Table::Reconfigured>& result) {
  if (!result.ok()) {
    LogWarning("table \"", table, "\": a change by ", who, " was refused: ", result.status().message());
  } else if (!result->differences.empty()) {
    LogInfo("table \"", table, "\" was changed by ", who, " to generation ", result->generation,
            " (as it was and is): ", absl::StrJoin(result->differences, "; "), "; ", result->items_removed,
            " items left");
  }
}

void Fill(const Table& table, v1::TableInfo* proto) {
  const Table::Info info = table.info();
  *proto->mutable_config() = ToProto(*info.config);
  proto->set_config_generation(info.config_generation);
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
  proto->set_disk_bytes(info.tier.disk_bytes);
  proto->set_memory_bytes(table.tier() != nullptr ? info.tier.memory_bytes : info.bytes);
  proto->set_disk_reads(info.tier.reads);
}

absl::Status ToClient(const absl::Status& status) {
  // A journal that has stopped means that this server is about to end: the client is to come back.
  return absl::IsCancelled(status) ? absl::UnavailableError("the replay server is stopping") : status;
}

void FinishAfterCommit(grpc::ServerUnaryReactor* reactor, const std::shared_ptr<Table>& table) {
  table->AfterCommit([reactor](const absl::Status& status) { reactor->Finish(ToGrpcStatus(ToClient(status))); });
}

// As AnswerUnary, for a method that changes a table and returns it.
template <class Request, class Response, class Method>
grpc::ServerUnaryReactor* AnswerChange(grpc::CallbackServerContext* context, const grpc::ByteBuffer& bytes,
                                       grpc::ByteBuffer* response, size_t max_bytes, const Method& method) {
  Request request;
  if (absl::Status status = DecodeRequest(bytes, max_bytes, &request); !status.ok()) {
    return FinishUnary(context, status);
  }
  Response answer;
  const absl::StatusOr<std::shared_ptr<Table>> table = method(static_cast<const Request&>(request), &answer);
  if (!table.ok()) {
    return FinishUnary(context, table.status());
  }
  *response = EncodeMessage(answer, ByteSlices());
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  FinishAfterCommit(reactor, *table);
  return reactor;
}

absl::StatusOr<std::optional<SavedPolicy>> FromProto(v1::SavedPolicy policy) {
  switch (policy) {
    case v1::SAVED_POLICY_UNSPECIFIED:
      return std::nullopt;
    case v1::SAVED_POLICY_REFUSE:
      return SavedPolicy::kRefuse;
    case v1::SAVED_POLICY_KEEP:
      return SavedPolicy::kKeep;
    case v1::SAVED_POLICY_REPLACE:
      return SavedPolicy::kReplace;
    default:
      return absl::InvalidArgumentError(absl::StrCat("if_saved_differs: ", static_cast<int>(policy), " is none"));
  }
}

}  // namespace

grpc::ServerUnaryReactor* ReplayService::CreateTable(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  v1::CreateTableRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return FinishUnary(context, status);
  }
  // Freeing a large table that it takes the place of takes long.
  return ChangeLater(context,
                     [this, decoded = std::move(decoded), response]() -> absl::StatusOr<std::shared_ptr<Table>> {
                       v1::CreateTableResponse answer;
                       WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> table, CreateTable(decoded, &answer));
                       *response = EncodeMessage(answer, ByteSlices());
                       return table;
                     });
}

absl::StatusOr<std::shared_ptr<Table>> ReplayService::CreateTable(const v1::CreateTableRequest& request,
                                                                  v1::CreateTableResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const TableConfig config, waggle::FromProto(request.config()));
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<SavedPolicy> policy, FromProto(request.if_saved_differs()));
  WAGGLE_ASSIGN_OR_RETURN(const bool created, store_->CreateTable(config, policy));
  response->set_created(created);
  return store_->FindTable(config.name);
}

grpc::ServerUnaryReactor* ReplayService::Reconfigure(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  v1::ReconfigureRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return FinishUnary(context, status);
  }
  absl::StatusOr<TableConfig> config = FromProto(decoded.config());
  if (!config.ok()) {
    return FinishUnary(context, config.status());
  }
  if (decoded.requester().size() > kMaxNameLength) {
    return FinishUnary(context,
                       absl::InvalidArgumentError(absl::StrCat("requester: has ", decoded.requester().size(),
                                                               " bytes; up to ", kMaxNameLength, " are allowed")));
  }
  // Removing much, and new selectors for many items, take long.
  return ChangeLater(context,
                     [this, config = *std::move(config), decoded = std::move(decoded), peer = PeerOf(*context),
                      response]() -> absl::StatusOr<std::shared_ptr<Table>> {
                       const absl::StatusOr<Table::Reconfigured> result =
                           store_->Reconfigure(config, decoded.config_generation(), decoded.dry_run());
                       if (!decoded.dry_run()) {
                         Audit(config.name,
                               absl::StrCat(decoded.requester(), decoded.requester().empty() ? "" : " at ", peer),
                               result);
                       }
                       WAGGLE_RETURN_IF_ERROR(result.status());
                       v1::ReconfigureResponse answer;
                       for (const std::string& difference : result->differences) {
                         answer.add_differences(difference);
                       }
                       answer.set_items_removed(static_cast<uint64_t>(result->items_removed));
                       answer.set_config_generation(result->generation);
                       *response = EncodeMessage(answer, ByteSlices());
                       return store_->FindTable(config.name);
                     });
}

grpc::ServerUnaryReactor* ReplayService::AnswerLater(grpc::CallbackServerContext* context, Executor* executor,
                                                     std::function<absl::Status()> answer) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::Status submitted =
      executor->Submit([reactor, answer = std::move(answer)] { reactor->Finish(ToGrpcStatus(answer())); });
  return submitted.ok() ? reactor : FinishUnary(context, absl::UnavailableError("the replay server is too busy"));
}

grpc::ServerUnaryReactor* ReplayService::ChangeLater(grpc::CallbackServerContext* context,
                                                     std::function<absl::StatusOr<std::shared_ptr<Table>>()> change) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const absl::Status submitted = executor_->Submit([reactor, change = std::move(change)] {
    const absl::StatusOr<std::shared_ptr<Table>> table = change();
    if (table.ok()) {
      FinishAfterCommit(reactor, *table);
    } else {
      reactor->Finish(ToGrpcStatus(table.status()));
    }
  });
  return submitted.ok() ? reactor : FinishUnary(context, absl::UnavailableError("the replay server is too busy"));
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReplayService::Insert(
    grpc::CallbackServerContext* /*context*/) {
  return new BidiReactor<v1::InsertRequest, v1::InsertResponse>(
      std::make_unique<InsertStream>(store_, executor_, options_.insert));
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReplayService::Sample(
    grpc::CallbackServerContext* context) {
  return new BidiReactor<v1::SampleRequest, v1::SampleResponse>(std::make_unique<SampleStream>(
      store_, executor_, disk_executor_, sample_budget_, sample_memory_, options_.sample, PeerOf(*context)));
}

grpc::ServerUnaryReactor* ReplayService::UpdatePriorities(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return AnswerChange<v1::UpdatePrioritiesRequest, v1::UpdatePrioritiesResponse>(
      context, *request, response, kMaxKeysBytes,
      [this, context](const v1::UpdatePrioritiesRequest& decoded, v1::UpdatePrioritiesResponse* answer) {
        return UpdatePriorities(decoded, PeerOf(*context), answer);
      });
}

absl::StatusOr<std::shared_ptr<Table>> ReplayService::FindChangeable(const std::string& name) {
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> table, store_->FindTable(name));
  WAGGLE_RETURN_IF_ERROR(table->log_status());
  return table;
}

absl::StatusOr<std::shared_ptr<Table>> ReplayService::UpdatePriorities(const v1::UpdatePrioritiesRequest& request,
                                                                       const std::string& who,
                                                                       v1::UpdatePrioritiesResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, FindChangeable(request.table()));
  WAGGLE_RETURN_IF_ERROR(CheckListLength("generations", request.generations_size(), "keys", request.keys_size()));
  WAGGLE_RETURN_IF_ERROR(CheckListLength("priorities", request.priorities_size(), "keys", request.keys_size()));
  WAGGLE_ASSIGN_OR_RETURN(const PriorityUpdateCounts counts,
                          table->UpdatePriorities(SpanOf(request.keys()), SpanOf(request.generations()),
                                                  SpanOf(request.priorities()), who));
  response->set_applied(counts.applied);
  response->set_stale(counts.stale);
  response->set_unknown(counts.unknown);
  return table;
}

grpc::ServerUnaryReactor* ReplayService::Delete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                grpc::ByteBuffer* response) {
  return AnswerChange<v1::DeleteRequest, v1::DeleteResponse>(
      context, *request, response, kMaxKeysBytes,
      [this](const v1::DeleteRequest& decoded, v1::DeleteResponse* answer) { return Delete(decoded, answer); });
}

absl::StatusOr<std::shared_ptr<Table>> ReplayService::Delete(const v1::DeleteRequest& request,
                                                             v1::DeleteResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, FindChangeable(request.table()));
  WAGGLE_RETURN_IF_ERROR(CheckListLength("generations", request.generations_size(), "keys", request.keys_size()));
  const PriorityUpdateCounts counts = table->Delete(SpanOf(request.keys()), SpanOf(request.generations()));
  response->set_deleted(counts.applied);
  response->set_stale(counts.stale);
  response->set_unknown(counts.unknown);
  return table;
}

grpc::ServerUnaryReactor* ReplayService::Clear(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  v1::ClearRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return FinishUnary(context, status);
  }
  const absl::StatusOr<std::shared_ptr<Table>> table = FindChangeable(decoded.table());
  if (!table.ok()) {
    return FinishUnary(context, table.status());
  }
  // Freeing the rows of a large table takes long.
  return ChangeLater(context, [response, table = *table] {
    v1::ClearResponse answer;
    answer.set_deleted(table->Clear());
    *response = EncodeMessage(answer, ByteSlices());
    return table;
  });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* ReplayService::Export(grpc::CallbackServerContext* /*context*/,
                                                                  const grpc::ByteBuffer* request) {
  v1::ExportRequest decoded;
  absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded);
  if (status.ok()) {
    const absl::StatusOr<std::shared_ptr<Table>> table = store_->FindTable(decoded.table());
    if (table.ok()) {
      return new WriteReactor(
          std::make_unique<ExportSource>(*table, (*table)->tier() != nullptr ? disk_executor_ : executor_));
    }
    status = table.status();
  }
  return new WriteReactor(std::make_unique<EndedSource>(std::move(status)));
}

grpc::ServerUnaryReactor* ReplayService::Describe(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return AnswerUnary<v1::DescribeRequest, v1::DescribeResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::DescribeRequest& /*decoded*/, v1::DescribeResponse* answer) { return Describe(answer); });
}

grpc::ServerUnaryReactor* ReplayService::Checkpoint(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  v1::CheckpointRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return FinishUnary(context, status);
  }
  if (journal_ == nullptr) {
    return FinishUnary(context,
                       absl::FailedPreconditionError("this server has no folder to keep a checkpoint in (--data-dir)"));
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  journal_->Checkpoint([reactor, response](const absl::StatusOr<CheckpointInfo>& info) {
    if (info.ok()) {
      v1::CheckpointResponse answer;
      answer.set_number(info->number);
      answer.set_items_changed(info->items);
      *response = EncodeMessage(answer, ByteSlices());
    }
    reactor->Finish(ToGrpcStatus(ToClient(info.status())));
  });
  return reactor;
}

absl::Status ReplayService::Describe(v1::DescribeResponse* response) const {
  for (const std::shared_ptr<Table>& table : store_->tables()) {
    Fill(*table, response->add_tables());
  }
  const ReplayStore::WriterInfo writers = store_->writer_info();
  response->set_writers(static_cast<uint64_t>(writers.writers));
  response->set_writer_bytes(static_cast<uint64_t>(writers.held_bytes));
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* ReplayService::Explain(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  return AnswerUnary<v1::ExplainRequest, v1::ExplainResponse>(
      context, *request, response, kMaxUnaryBytes,
      [this](const v1::ExplainRequest& decoded, v1::ExplainResponse* answer) { return Explain(decoded, answer); });
}

absl::Status ReplayService::Explain(const v1::ExplainRequest& request, v1::ExplainResponse* response) const {
  if (!request.table().empty()) {
    WAGGLE_RETURN_IF_ERROR(store_->FindTable(request.table()).status());
  }
  // Of all tables, for who waits at one writes to no other.
  std::vector<TablePicture> pictures;
  for (const std::shared_ptr<Table>& table : store_->tables()) {
    pictures.push_back(table->picture());
  }
  LinkWaits(&pictures);
  for (const TablePicture& picture : pictures) {
    if (request.table().empty() || picture.config->name == request.table()) {
      *response->add_tables() = ToProto(picture, waggle::Explain(picture, ExplainOptions()));
    }
  }
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* ReplayService::Inspect(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  v1::InspectRequest decoded;
  if (absl::Status status = DecodeRequest(*request, kMaxUnaryBytes, &decoded); !status.ok()) {
    return FinishUnary(context, status);
  }
  // Looking at every item of a large table takes long.
  Executor* const executor = decoded.columns() ? disk_executor_ : executor_;
  return AnswerLater(context, executor, [this, decoded = std::move(decoded), response]() -> absl::Status {
    v1::InspectResponse answer;
    WAGGLE_RETURN_IF_ERROR(Inspect(decoded, &answer));
    *response = EncodeMessage(answer, ByteSlices());
    return absl::OkStatus();
  });
}

absl::Status ReplayService::Inspect(const v1::InspectRequest& request, v1::InspectResponse* response) const {
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, store_->FindTable(request.table()));
  WAGGLE_ASSIGN_OR_RETURN(const InspectRequest decoded, FromProto(request));
  WAGGLE_ASSIGN_OR_RETURN(const Inspection inspection, waggle::Inspect(*table, decoded));
  *response = ToProto(inspection, decoded.statistics);
  if (!request.columns()) {
    return absl::OkStatus();
  }
  const std::optional<Table::HeldItem> item = table->Hold(decoded.keys.front());
  if (!item.has_value() || inspection.items.empty() ||
      inspection.items.front().facts.generation != item->facts.generation) {
    return absl::NotFoundError(absl::StrCat("table \"", table->name(), "\" has no item of key ", decoded.keys.front()));
  }
  const auto max_bytes = static_cast<int64_t>(std::min(request.max_column_bytes(), kMaxInspectedBytes));
  WAGGLE_ASSIGN_OR_RETURN(std::vector<InspectedColumn> columns, InspectColumns(*table, item->window, max_bytes));
  for (InspectedColumn& column : columns) {
    *response->add_columns() = ToProto(std::move(column));
  }
  return absl::OkStatus();
}

}  // namespace waggle
