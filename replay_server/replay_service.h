#pragma once

#include <grpcpp/grpcpp.h>

#include "common/base/executor.h"
#include "replay_server/insert_stream.h"
#include "replay_server/sample_stream.h"
#include "replay_server/table/replay_store.h"
#include "waggle/v1/replay.grpc.pb.h"

namespace waggle {

struct ReplayServiceOptions {
  InsertStreamOptions insert;
  SampleStreamOptions sample;
};

// The two streams with bulk data are raw; the rest is generated code's.
using ReplayServiceBase =
    v1::ReplayService::WithRawCallbackMethod_Insert<v1::ReplayService::WithRawCallbackMethod_Sample<
        v1::ReplayService::WithCallbackMethod_CreateTable<v1::ReplayService::WithCallbackMethod_UpdatePriorities<
            v1::ReplayService::WithCallbackMethod_Delete<v1::ReplayService::WithCallbackMethod_Clear<
                v1::ReplayService::WithCallbackMethod_Describe<v1::ReplayService::Service>>>>>>>;

// waggle.v1.ReplayService over a ReplayStore; see replay.proto.
class ReplayService final : public ReplayServiceBase {
 public:
  // Store and executor outlive the service and every call to it.
  ReplayService(ReplayStore* store, Executor* executor, ReplayServiceOptions options)
      : store_(store), executor_(executor), options_(std::move(options)) {}

  grpc::ServerUnaryReactor* CreateTable(grpc::CallbackServerContext* context, const v1::CreateTableRequest* request,
                                        v1::CreateTableResponse* response) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Insert(grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Sample(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* UpdatePriorities(grpc::CallbackServerContext* context,
                                             const v1::UpdatePrioritiesRequest* request,
                                             v1::UpdatePrioritiesResponse* response) override;
  grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context, const v1::DeleteRequest* request,
                                   v1::DeleteResponse* response) override;
  grpc::ServerUnaryReactor* Clear(grpc::CallbackServerContext* context, const v1::ClearRequest* request,
                                  v1::ClearResponse* response) override;
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const v1::DescribeRequest* request,
                                     v1::DescribeResponse* response) override;

 private:
  absl::Status UpdatePriorities(const v1::UpdatePrioritiesRequest& request, v1::UpdatePrioritiesResponse* response);
  absl::Status Delete(const v1::DeleteRequest& request, v1::DeleteResponse* response);

  ReplayStore* const store_;
  Executor* const executor_;
  const ReplayServiceOptions options_;
};

}  // namespace waggle
