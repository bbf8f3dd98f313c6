#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/threads/executor.h"
#include "param_server/results/result_files.h"
#include "waggle/v1/results.grpc.pb.h"

namespace waggle {

// The folders of an experiment. NOT_FOUND, naming the id, if there is none. Does not block.
using FindResults = std::function<absl::StatusOr<ResultFolders>(const std::string& experiment_id)>;

// All methods are raw, to limit the size of parsed messages.
using ResultServiceBase = v1::ResultService::WithRawCallbackMethod_List<
    v1::ResultService::WithRawCallbackMethod_Fetch<v1::ResultService::Service>>;

// waggle.v1.ResultService over the folders of the hub's experiments; see results.proto. Threads of its own wait for the
// disk. UNAVAILABLE if too many files are sent at once.
class ResultService final : public ResultServiceBase {
 public:
  // Sends at most `max_streams` files at once. Each holds a file and up to two pieces of it.
  explicit ResultService(FindResults find, int max_streams = 64);

  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                 grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Fetch(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request) override;

 private:
  const FindResults find_;
  const int max_streams_;
  const std::shared_ptr<std::atomic<int>> streams_ = std::make_shared<std::atomic<int>>(0);  // Files being sent.
  Executor readers_;  // Last: its tasks use the members above.
};

}  // namespace waggle
