#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>

#include "common/base/threads/mutex.h"
#include "learner/inference/inference_batcher.h"
#include "waggle/v1/inference.grpc.pb.h"

namespace waggle {

// waggle.v1.InferenceService over an InferenceBatcher; see inference.proto. A stream's handler reads its next message
// once the last is answered, so that a stream holds at most one request.
class InferenceService final : public v1::InferenceService::WithRawCallbackMethod_Act<v1::InferenceService::Service> {
 public:
  // Answers streams by this batcher from now on; `network_hash` is of its policy's network. With null, as in the
  // beginning, streams get UNAVAILABLE. The earlier batcher is stopped, and its streams end.
  void SetBatcher(std::shared_ptr<InferenceBatcher> batcher, uint64_t network_hash) ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Act(grpc::CallbackServerContext* context) override
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Mutex mutex_;
  std::shared_ptr<InferenceBatcher> batcher_ ABSL_GUARDED_BY(mutex_);
  uint64_t network_hash_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace waggle
