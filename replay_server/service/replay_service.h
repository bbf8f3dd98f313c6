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
  // Of blocks that have come and are not applied yet, over all streams. One of each stream is taken in all the same.
  int64_t max_insert_bytes = int64_t{1} << 30;
  // Of batches being gathered or sent, over all streams, of which each has at most an eighth (or one batch). A batch
  // that is larger goes alone.
  int64_t max_sample_bytes = int64_t{1} << 30;
  // Of the memory of batches that have been sent: kept for the next.
  int64_t max_kept_sample_bytes = int64_t{64} << 20;
  // Of the tables' memory that batches being sent may keep from being freed. Past that large rows are copied, too.
  int64_t max_lent_sample_bytes = int64_t{1} << 30;
  // Under way at a time, over all tables. Each takes 16 bytes for every item, and keeps some of the rows alive.
  int64_t max_exports = 16;
  RefusalsOptions refusals;

  // INVALID_ARGUMENT naming every field that is wrong, those of `insert` and `sample` included.
  absl::Status Validate() const;
};

// All methods are raw: the streams because of their bulk data, the others for a limit on what is parsed.
using ReplayServiceBase = v1::ReplayService::WithRawCallbackMethod_CreateTable<
    v1::ReplayService::WithRawCallbackMethod_Reconfigure<v1::ReplayService::WithRawCallbackMethod_Insert<
        v1::ReplayService::WithRawCallbackMethod_Sample<v1::ReplayService::WithRawCallbackMethod_UpdatePriorities<
            v1::ReplayService::WithRawCallbackMethod_Delete<v1::ReplayService::WithRawCallbackMethod_Clear<
                v1::ReplayService::WithRawCallbackMethod_Export<v1::ReplayService::WithRawCallbackMethod_Describe<
                    v1::ReplayService::WithRawCallbackMethod_Explain<v1::ReplayService::WithRawCallbackMethod_Inspect<
                        v1::ReplayService::WithRawCallbackMethod_Checkpoint<v1::ReplayService::Service>>>>>>>>>>>>;

// waggle.v1.ReplayService over a ReplayStore; see replay.proto. What it refuses it counts, and Describe tells.
class ReplayService final : public ReplayServiceBase {
 public:
  // Store, journal and executors outlive the service and every call to it. The journal is null where nothing is kept.
  // What may have to wait for rows that are on disk runs on `disk_executor`.
  ReplayService(ReplayStore* store, Journal* journal, Executor* executor, Executor* disk_executor,
                ReplayServiceOptions options);
  ~ReplayService() override;

  // Ends the streams of samplers that do not read while others wait. To be called about once a second.
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
  CountedCall Call(grpc::CallbackServerContext* context, const char* method) {
    return CountedCall(context, method, &refusals_);
  }
  // Return the table that was changed: the answer waits until it has done with it what its durability asks for.
  absl::StatusOr<std::shared_ptr<Table>> CreateTable(const v1::CreateTableRequest& request,
                                                     v1::CreateTableResponse* response);
  absl::StatusOr<std::shared_ptr<Table>> Reconfigure(const v1::ReconfigureRequest& request, const std::string& peer,
                                                     v1::ReconfigureResponse* response);
  // UNAVAILABLE while what is changed in it could not be written down: those who wait for that are not to pile up.
  absl::StatusOr<std::shared_ptr<Table>> FindChangeable(const std::string& name);
  absl::StatusOr<std::shared_ptr<Table>> UpdatePriorities(const v1::UpdatePrioritiesRequest& request,
                                                          const std::string& who,
                                                          v1::UpdatePrioritiesResponse* response);
  absl::StatusOr<std::shared_ptr<Table>> Delete(const v1::DeleteRequest& request, v1::DeleteResponse* response);
  // UNAVAILABLE where as many are under way as may be.
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
  Executor::Lane long_lane_;       // For calls that take long,
  Executor::Lane long_disk_lane_;  // and for those of them that wait for the disk.
  const std::shared_ptr<MemoryAccount> insert_budget_;
  const std::shared_ptr<MemoryAccount> sample_budget_;
  const std::shared_ptr<BatchMemory> sample_memory_;
  const std::shared_ptr<SampleReaders> sample_readers_;
  const std::shared_ptr<MemoryAccount> exports_;  // Counts exports.
};

}  // namespace waggle
