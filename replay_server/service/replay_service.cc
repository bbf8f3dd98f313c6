#include "replay_server/service/replay_service.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/build_info.h"
#include "common/base/log.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/net/bidi_reactor.h"
#include "common/net/channel.h"
#include "common/net/security/security.h"
#include "common/net/write_reactor.h"
#include "common/replay/replay_convert.h"
#include "common/replay/table_config_convert.h"
#include "replay_server/diagnose/describe.h"
#include "replay_server/diagnose/explain.h"
#include "replay_server/diagnose/inspect.h"
#include "replay_server/service/counted_call.h"
#include "replay_server/service/export_source.h"
#include "replay_server/service/lane_groups.h"
#include "replay_server/storage/data_folder.h"
#include "replay_server/table/client_words.h"

namespace waggle {
namespace {

// The limit of updates and deletions, which may have some hundred thousand keys. Their lists of numbers are as large in
// memory as on the wire.
constexpr size_t kMaxKeysBytes = kMaxHeaderBytes;

template <class T>
absl::Span<const T> SpanOf(const google::protobuf::RepeatedField<T>& field) {
  return absl::MakeConstSpan(field.data(), field.size());
}

absl::Status CheckSameLength(absl::string_view list, int length, int keys) {
  return WithReason(reasons::kBadRequest, CheckListLength(list, length, "keys", keys));
}

// INVALID_ARGUMENT if a row of a valid table would not fit into a message.
absl::Status CheckRowFits(const TableConfig& config) {
  constexpr int64_t kMaxRowBytes = kMaxMessageBytes - (int64_t{1} << 20);  // The message has a header too.
  const int64_t bytes = BytesARow(config.signature);
  return bytes <= kMaxRowBytes ? absl::OkStatus()
                               : Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadConfiguration, "table \"",
                                         config.name, "\": signature: got a row of ", bytes, " bytes; wanted at most ",
                                         kMaxRowBytes, ", because a row must fit into a message");
}

// A sampler that reads slowly, or not at all, must not take all of the shared memory.
ReplayServiceOptions WithFairShares(ReplayServiceOptions options) {
  options.sample.max_bytes_in_flight =
      std::clamp<int64_t>(options.max_sample_bytes / 8, 1, std::max<int64_t>(1, options.sample.max_bytes_in_flight));
  return options;
}

// Logs a change of a table and the client that made it.
void Audit(const std::string& table, const std::string& who, const absl::StatusOr<Table::Reconfigured>& result) {
  if (!result.ok()) {
    LogWarning("table \"", table, "\": a change by ", who, " was refused: ", result.status().message());
  } else if (!result->differences.empty()) {
    LogInfo("table \"", table, "\" was changed by ", who, " to generation ", result->generation,
            " (before and after): ", absl::StrJoin(result->differences, "; "), "; ", result->items_removed,
            " items were removed");
  }
}

}  // namespace

absl::Status ReplayServiceOptions::Validate() const {
  Problems problems;
  problems.AddUnlessAtLeast("insert.max_blocks_in_flight", insert.max_blocks_in_flight, 1);
  problems.AddUnlessAtLeast("insert.max_bytes_in_flight", insert.max_bytes_in_flight, 1);
  problems.AddUnlessAtLeast("insert.turn_bytes", insert.turn_bytes, 0);
  problems.AddUnlessAtLeast("insert.max_inline_bytes", insert.max_inline_bytes, 0);
  problems.AddIfBad("sample.", sample.Validate());
  problems.AddIfBad("sample_readers.", sample_readers.Validate());
  problems.AddUnlessAtLeast("max_insert_bytes", max_insert_bytes, 1);
  problems.AddUnlessAtLeast("max_sample_bytes", max_sample_bytes, 1);
  problems.AddUnlessAtLeast("max_kept_sample_bytes", max_kept_sample_bytes, 0);
  problems.AddUnlessAtLeast("max_lent_sample_bytes", max_lent_sample_bytes, 0);
  problems.AddUnlessAtLeast("max_exports", max_exports, 1);
  return problems.ToStatus("", "; ");
}

ReplayService::ReplayService(ReplayStore* store, Journal* journal, Executor* executor, Executor* disk_executor,
                             ReplayServiceOptions options)
    : store_(store),
      journal_(journal),
      executor_(executor),
      disk_executor_(disk_executor),
      options_(WithFairShares(std::move(options))),
      refusals_(options_.refusals),
      long_lane_(executor, LongLaneOf(*executor)),
      long_disk_lane_(disk_executor, LongLaneOf(*disk_executor)),
      insert_budget_(std::make_shared<MemoryAccount>(options_.max_insert_bytes)),
      sample_budget_(std::make_shared<MemoryAccount>(options_.max_sample_bytes)),
      sample_memory_(std::make_shared<BatchMemory>(options_.max_kept_sample_bytes, options_.max_lent_sample_bytes)),
      sample_readers_(std::make_shared<SampleReaders>(options_.sample_readers)),
      exports_(std::make_shared<MemoryAccount>(options_.max_exports)) {}

ReplayService::~ReplayService() {
  insert_budget_->Close();
  sample_budget_->Close();
}

grpc::ServerUnaryReactor* ReplayService::CreateTable(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  // Freeing a large table that the new one replaces takes long.
  return Call(context, "CreateTable")
      .AnswerLater<v1::CreateTableRequest, v1::CreateTableResponse>(
          [this](const auto& /*decoded*/) { return &long_lane_; }, *request, response, kMaxUnaryBytes,
          [this](const auto& decoded, auto* answer) { return CreateTable(decoded, answer); });
}

absl::StatusOr<std::shared_ptr<Table>> ReplayService::CreateTable(const v1::CreateTableRequest& request,
                                                                  v1::CreateTableResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const TableConfig config,
                          WithReason(reasons::kBadConfiguration, waggle::FromProto(request.config())));
  WAGGLE_RETURN_IF_ERROR(CheckRowFits(config));
  std::optional<SavedPolicy> policy;
  if (const int wanted = request.if_saved_differs(); wanted != v1::SAVED_POLICY_UNSPECIFIED) {
    if (!v1::SavedPolicy_IsValid(wanted)) {
      return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadRequest, "if_saved_differs: got ", wanted,
                     "; wanted 0 to ", v1::SavedPolicy_MAX);
    }
    policy = static_cast<SavedPolicy>(wanted);
  }
  WAGGLE_ASSIGN_OR_RETURN(const bool created, store_->CreateTable(config, policy));
  response->set_created(created);
  return store_->FindTable(config.name);
}

grpc::ServerUnaryReactor* ReplayService::Reconfigure(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  const CountedCall call = Call(context, "Reconfigure");
  const std::string caller = ProcessSecurity().CallerOf(*context).name;
  const std::string who = absl::StrCat(caller, caller.empty() ? "" : " at ", call.peer());
  // Removing many items, and new selectors for many items, take long.
  return call.AnswerLater<v1::ReconfigureRequest, v1::ReconfigureResponse>(
      [this](const auto& /*decoded*/) { return &long_lane_; }, *request, response, kMaxUnaryBytes,
      [this, who](const auto& decoded, auto* answer) { return Reconfigure(decoded, who, answer); });
}

absl::StatusOr<std::shared_ptr<Table>> ReplayService::Reconfigure(const v1::ReconfigureRequest& request,
                                                                  const std::string& who,
                                                                  v1::ReconfigureResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const TableConfig config,
                          WithReason(reasons::kBadConfiguration, waggle::FromProto(request.config())));
  if (request.requester().size() > kMaxNameLength) {
    return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadName, "requester: got ", request.requester().size(),
                   " bytes; wanted at most ", kMaxNameLength);
  }
  WAGGLE_RETURN_IF_ERROR(FindChangeable(config.name).status());
  const absl::StatusOr<Table::Reconfigured> result =
      store_->Reconfigure(config, request.config_generation(), request.dry_run());
  if (!request.dry_run()) {
    Audit(config.name, absl::StrCat(request.requester(), request.requester().empty() ? "" : " at ", who), result);
  }
  WAGGLE_RETURN_IF_ERROR(result.status());
  for (const std::string& difference : result->differences) {
    response->add_differences(difference);
  }
  response->set_items_removed(static_cast<uint64_t>(result->items_removed));
  response->set_samples_allowed(result->samples_allowed);
  response->set_inserts_allowed(result->inserts_allowed);
  for (const std::string& why : result->waits) {
    response->add_waits(why);
  }
  response->set_config_generation(result->generation);
  return store_->FindTable(config.name);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReplayService::Insert(
    grpc::CallbackServerContext* context) {
  return new BidiReactor<v1::InsertRequest, v1::InsertResponse>(
      context, std::make_unique<InsertStream>(store_, executor_, options_.insert, insert_budget_),
      CountInto(&refusals_, "Insert", context));
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* ReplayService::Sample(
    grpc::CallbackServerContext* context) {
  SampleResources shared{executor_, disk_executor_, sample_budget_, sample_memory_, sample_readers_};
  return new BidiReactor<v1::SampleRequest, v1::SampleResponse>(
      context, std::make_unique<SampleStream>(store_, std::move(shared), options_.sample, PeerOf(*context)),
      CountInto(&refusals_, "Sample", context));
}

grpc::ServerUnaryReactor* ReplayService::UpdatePriorities(grpc::CallbackServerContext* context,
                                                          const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  const CountedCall call = Call(context, "UpdatePriorities");
  return call.AnswerNow<v1::UpdatePrioritiesRequest, v1::UpdatePrioritiesResponse>(
      *request, response, kMaxKeysBytes,
      [&](const auto& decoded, auto* answer) { return UpdatePriorities(decoded, call.peer(), answer); });
}

absl::StatusOr<std::shared_ptr<Table>> ReplayService::FindChangeable(const std::string& name) {
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> table, store_->FindTable(name));
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kDisk, table->log_status()));
  return table;
}

absl::StatusOr<std::shared_ptr<Table>> ReplayService::UpdatePriorities(const v1::UpdatePrioritiesRequest& request,
                                                                       const std::string& who,
                                                                       v1::UpdatePrioritiesResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, FindChangeable(request.table()));
  WAGGLE_RETURN_IF_ERROR(CheckSameLength("generations", request.generations_size(), request.keys_size()));
  WAGGLE_RETURN_IF_ERROR(CheckSameLength("priorities", request.priorities_size(), request.keys_size()));
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
  return Call(context, "Delete")
      .AnswerNow<v1::DeleteRequest, v1::DeleteResponse>(
          *request, response, kMaxKeysBytes,
          [this](const auto& decoded, auto* answer) { return Delete(decoded, answer); });
}

absl::StatusOr<std::shared_ptr<Table>> ReplayService::Delete(const v1::DeleteRequest& request,
                                                             v1::DeleteResponse* response) {
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, FindChangeable(request.table()));
  WAGGLE_RETURN_IF_ERROR(CheckSameLength("generations", request.generations_size(), request.keys_size()));
  const PriorityUpdateCounts counts = table->Delete(SpanOf(request.keys()), SpanOf(request.generations()));
  response->set_deleted(counts.applied);
  response->set_stale(counts.stale);
  response->set_unknown(counts.unknown);
  return table;
}

grpc::ServerUnaryReactor* ReplayService::Clear(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                               grpc::ByteBuffer* response) {
  // Freeing the rows of a large table takes long.
  return Call(context, "Clear")
      .AnswerLater<v1::ClearRequest, v1::ClearResponse>(
          [this](const auto& /*decoded*/) { return &long_lane_; }, *request, response, kMaxUnaryBytes,
          [this](const auto& decoded, auto* answer) -> absl::StatusOr<std::shared_ptr<Table>> {
            WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> table, FindChangeable(decoded.table()));
            answer->set_deleted(table->Clear());
            return table;
          });
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* ReplayService::Export(grpc::CallbackServerContext* context,
                                                                  const grpc::ByteBuffer* request) {
  if (!request->Valid()) {
    return new NoRequestReactor<grpc::ServerWriteReactor<grpc::ByteBuffer>>(context,
                                                                            CountInto(&refusals_, "Export", context));
  }
  std::unique_ptr<WriteSource> source;
  absl::Status status = GuardedStatus([&]() -> absl::Status {
    WAGGLE_ASSIGN_OR_RETURN(source, NewExport(*request));
    return absl::OkStatus();
  });
  if (!status.ok()) {
    source = std::make_unique<EndedSource>(std::move(status));
  }
  return new WriteReactor(std::move(source), CountInto(&refusals_, "Export", context));
}

absl::StatusOr<std::unique_ptr<WriteSource>> ReplayService::NewExport(const grpc::ByteBuffer& request) {
  v1::ExportRequest decoded;
  WAGGLE_RETURN_IF_ERROR(DecodeRequest(request, kMaxUnaryBytes, &decoded));
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, store_->FindTable(decoded.table()));
  std::shared_ptr<const void> place = exports_->TryTake(1);
  if (place == nullptr) {
    return Refusal(absl::StatusCode::kUnavailable, reasons::kTooBusy, options_.max_exports,
                   " exports are under way, the most that this server allows: wait until one has ended");
  }
  return std::make_unique<ExportSource>(table, table->tier() != nullptr ? &long_disk_lane_ : &long_lane_,
                                        std::move(place));
}

grpc::ServerUnaryReactor* ReplayService::Describe(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  return Call(context, "Describe")
      .AnswerNow<v1::DescribeRequest, v1::DescribeResponse>(
          *request, response, kMaxUnaryBytes,
          [this](const auto& /*decoded*/, auto* answer) { return Describe(answer); });
}

absl::Status ReplayService::CheckDurable(const std::vector<std::shared_ptr<Table>>& tables) {
  for (const std::shared_ptr<Table>& table : tables) {
    if (table->config()->durability == Durability::kNone) {
      return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kBadConfiguration, "table \"", table->name(),
                     "\": durability: got none; wanted checkpoint or log in an experiment that has cuts");
    }
  }
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* ReplayService::Checkpoint(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  const CountedCall call = Call(context, "Checkpoint");
  return call.Begin<v1::CheckpointRequest>(*request, kMaxUnaryBytes, [&](const auto& decoded) -> absl::Status {
    std::optional<CutRequest> cut;
    std::vector<std::shared_ptr<Table>> anew;
    if (decoded->cut() != 0) {
      cut = CutRequest{
          decoded->experiment_id(), decoded->cut(), {decoded->kept_cuts().begin(), decoded->kept_cuts().end()}};
      if (const absl::Status valid = DataFolder::CheckCut(*cut); !valid.ok()) {
        return Refusal(valid.code(), reasons::kBadName, valid.message());
      }
      const std::vector<std::shared_ptr<Table>> tables = store_->TablesOf(cut->experiment);
      WAGGLE_RETURN_IF_ERROR(CheckDurable(tables));
      anew = decoded->begin_anew() ? tables : anew;
    }
    if (journal_ == nullptr) {
      return Refusal(absl::StatusCode::kFailedPrecondition, reasons::kNoDataFolder,
                     "this server has no folder to keep a checkpoint in (--data-dir)");
    }
    journal_->Checkpoint(
        [call, response, anew](const absl::StatusOr<CheckpointInfo>& info) {
          if (info.ok()) {
            for (const std::shared_ptr<Table>& table : anew) {
              table->BeginAnew();
            }
            v1::CheckpointResponse answer;
            answer.set_number(info->number);
            answer.set_items_changed(info->items);
            *response = EncodeMessage(answer, ByteSlices());
          }
          call.FinishWritten(info.status());
        },
        std::move(cut));
    return absl::OkStatus();
  });
}

absl::Status ReplayService::Describe(v1::DescribeResponse* response) const {
  for (const std::shared_ptr<Table>& table : store_->tables()) {
    *response->add_tables() = waggle::Describe(*table);
  }
  const ReplayStore::WriterInfo writers = store_->writer_info();
  response->set_writers(static_cast<uint64_t>(writers.writers));
  response->set_writer_bytes(static_cast<uint64_t>(writers.held_bytes));
  for (const auto& [reason, count] : refusals_.counts()) {
    (*response->mutable_refusals())[reason] = count;
  }
  response->set_memory_bytes(static_cast<uint64_t>(std::max<int64_t>(0, store_->memory().used())));
  response->set_max_memory_bytes(static_cast<uint64_t>(store_->memory().limit()));
  response->set_software_version(kVersion);
  response->set_seconds_running(absl::ToDoubleSeconds(SteadyNow() - started_));
  if (journal_ != nullptr) {
    *response->mutable_storage() = waggle::Describe(journal_->disk());
  }
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* ReplayService::Explain(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  return Call(context, "Explain")
      .AnswerNow<v1::ExplainRequest, v1::ExplainResponse>(
          *request, response, kMaxUnaryBytes,
          [this](const auto& decoded, auto* answer) { return Explain(decoded, answer); });
}

absl::Status ReplayService::Explain(const v1::ExplainRequest& request, v1::ExplainResponse* response) const {
  if (!request.table().empty()) {
    WAGGLE_RETURN_IF_ERROR(store_->FindTable(request.table()).status());
  }
  // All tables, because a client that waits at one does not write to another.
  std::vector<TablePicture> pictures;
  std::map<std::string, WriterSession::Unanswered> unanswered = store_->unanswered();
  for (const std::shared_ptr<Table>& table : store_->tables()) {
    pictures.push_back(table->picture());
    if (journal_ != nullptr) {
      DiskPicture& disk = pictures.back().disk;
      disk = journal_->disk();
      disk.unacknowledged_blocks = unanswered[table->name()].blocks;
      disk.unacknowledged_bytes = unanswered[table->name()].bytes;
    }
  }
  LinkWaits(&pictures);
  sample_readers_->Describe(options_.max_sample_bytes, &pictures);
  for (const TablePicture& picture : pictures) {
    if (request.table().empty() || picture.config->name == request.table()) {
      *response->add_tables() = waggle::Explain(picture, ExplainOptions());
    }
  }
  return absl::OkStatus();
}

grpc::ServerUnaryReactor* ReplayService::Inspect(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                 grpc::ByteBuffer* response) {
  // Looking at every item of a large table takes long.
  return Call(context, "Inspect")
      .AnswerLater<v1::InspectRequest, v1::InspectResponse>(
          [this](const auto& decoded) { return decoded.columns() ? &long_disk_lane_ : &long_lane_; }, *request,
          response, kMaxUnaryBytes,
          [this](const auto& decoded, auto* answer) -> absl::Status {
            WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, store_->FindTable(decoded.table()));
            return waggle::Inspect(*table, decoded, answer);
          });
}

}  // namespace waggle
