#pragma once

#include <grpcpp/grpcpp.h>

#include <utility>

#include "param_server/services/run_services.h"
#include "waggle/v1/store.grpc.pb.h"

namespace waggle {

// All methods are raw, to limit the size of parsed messages.
using StoreServiceBase = v1::StoreService::WithRawCallbackMethod_Set<
    v1::StoreService::WithRawCallbackMethod_Get<v1::StoreService::WithRawCallbackMethod_Add<
        v1::StoreService::WithRawCallbackMethod_Delete<v1::StoreService::Service>>>>;

// waggle.v1.StoreService over the group stores of all running experiments; see store.proto.
class StoreService final : public StoreServiceBase {
 public:
  explicit StoreService(FindRun find) : find_(std::move(find)) {}

  grpc::ServerUnaryReactor* Set(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Add(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                grpc::ByteBuffer* response) override;
  grpc::ServerUnaryReactor* Delete(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* response) override;

 private:
  const FindRun find_;
};

}  // namespace waggle
