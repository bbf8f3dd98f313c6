#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/steady_now.h"
#include "common/base/threads/executor.h"
#include "common/net/write_reactor.h"
#include "replay_server/service/counted_call.h"
#include "replay_server/service/insert_stream.h"
#include "replay_server/service/refusals.h"
#include "replay_server/service/sample_stream.h"
#include "replay_server/storage/journal.h"
#include "replay_server/store/replay_store.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {

struct ReplayServiceOptions {
  InsertStreamOptions insert;
  SampleStreamOptions sample;
  SampleReadersOptions sample_readers;
  // Bytes of received blocks that are not applied yet, over all streams. One block of each stream is always allowed.
  int64_t max_insert_bytes = int64_t{1} << 30;
  // Bytes of batches being gathered or sent, over all streams; larger batches go alone. A stream has at most an eighth,
  // or one batch.
  int64_t max_sample_bytes = int64_t{1} << 30;
  // Bytes of sent batches' memory that is kept for later batches.
  int64_t max_kept_sample_bytes = int64_t{64} << 20;
  // Bytes of the tables' memory that batches being sent may keep from being freed. Past it large rows are copied.
  int64_t max_lent_sample_bytes = int64_t{1} << 30;
  // Simultaneous exports, over all tables. Each takes 16 bytes per item, and keeps some of the rows alive.
  int64_t max_exports = 16;
  RefusalsOptions refusals;

  // INVALID_ARGUMENT, naming every wrong field, also those of the options above.
  absl::Status Validate() const;
};

// All methods are raw: the streams because of their bulk data, the others to limit the bytes that are parsed.
using ReplayServiceBase = v1::ReplayService::WithRawCallbackMethod_CreateTable<
    v1::ReplayService::WithRawCallbackMethod_Reconfigure<v1::ReplayService::WithRawCallbackMethod_Insert<
        v1::ReplayService::WithRawCallbackMethod_Sample<v1::ReplayService::WithRawCallbackMethod_UpdatePriorities<
            v1::ReplayService::WithRawCallbackMethod_Delete<v1::ReplayService::WithRawCallbackMethod_Clear<
                v1::ReplayService::WithRawCallbackMethod_Export<v1::ReplayService::WithRawCallbackMethod_Describe<
                    v1::ReplayService::WithRawCallbackMethod_Explain<v1::ReplayService::WithRawCallbackMethod_Inspect<
                        v1::ReplayService::WithRawCallbackMethod_Checkpoint<v1::ReplayService::Service>>>>>>>>>>>>;

// waggle.v1.ReplayService over a ReplayStore; see replay.proto. Counts its refusals, which Describe returns.
class ReplayService final : public ReplayServiceBase {
 public:
  // Store, journal and executors must outlive the service and every call to it. The journal is null without a folder.
  // Tasks that may wait for rows on disk run on `disk_executor`.
  ReplayService(ReplayStore* store, Journal* journal, Executor* executor, Executor* disk_executor,
                ReplayServiceOptions options);
  ~ReplayService() override;

  // Ends the streams of samplers that do not read while others wait. Must be called about once a second.
  void TendSamplers(absl::Time now) { sample_readers_->Tend(now); }

  grpc::ServerUnaryReactor* CreateTable(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Reconfigure(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Insert(grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Sample(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* UpdatePriorities(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Clear(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Export(grpc::CallbackServerContext* context,
                                                     const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Explain(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Inspect(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Checkpoint(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;

 private:
  // FAILED_PRECONDITION if a table would not be in a cut.
  static absl::Status CheckDurable(const std::vector<std::shared_ptr<Table>>& tables);
  CountedCall Call(grpc::CallbackServerContext* context, const char* method) {
    return CountedCall(context, method, &refusals_);
  }
  // Return the changed table. The answer waits until the change is as safe as its durability promises.
  absl::StatusOr<std::shared_ptr<Table>> CreateTable(const v1::CreateTableRequest& request,
                                                     v1::CreateTableResponse* response);
  absl::StatusOr<std::shared_ptr<Table>> Reconfigure(const v1::ReconfigureRequest& request, const std::string& who,
                                                     v1::ReconfigureResponse* response);
  // UNAVAILABLE while changes of the table cannot be written to disk, so that waiting calls do not pile up.
  absl::StatusOr<std::shared_ptr<Table>> FindChangeable(const std::string& name);
  absl::StatusOr<std::shared_ptr<Table>> UpdatePriorities(const v1::UpdatePrioritiesRequest& request,
                                                          const std::string& who,
                                                          v1::UpdatePrioritiesResponse* response);
  absl::StatusOr<std::shared_ptr<Table>> Delete(const v1::DeleteRequest& request, v1::DeleteResponse* response);
  // UNAVAILABLE if max_exports are under way.
  absl::StatusOr<std::unique_ptr<WriteSource>> NewExport(const grpc::ByteBuffer& request);
  absl::Status Describe(v1::DescribeResponse* response) const;
  absl::Status Explain(const v1::ExplainRequest& request, v1::ExplainResponse* response) const;

  ReplayStore* const store_;
  Journal* const journal_;
  Executor* const executor_;
  Executor* const disk_executor_;
  const ReplayServiceOptions options_;
  const absl::Time started_ = SteadyNow();
  Refusals refusals_;
  Executor::Lane long_lane_;       // For calls that take long.
  Executor::Lane long_disk_lane_;  // For calls that take long and wait for the disk.
  const std::shared_ptr<MemoryAccount> insert_budget_;
  const std::shared_ptr<MemoryAccount> sample_budget_;
  const std::shared_ptr<BatchMemory> sample_memory_;
  const std::shared_ptr<SampleReaders> sample_readers_;
  const std::shared_ptr<MemoryAccount> exports_;  // Counts exports.
};

}  // namespace waggle
