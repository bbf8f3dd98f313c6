#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <string>

#include "common/api/gradients.h"
#include "common/base/mutex.h"
#include "common/metrics/metrics.h"
#include "param_server/gradients/gradient_buffers.h"
#include "waggle/v1/gradient.grpc.pb.h"

namespace waggle {

struct GradientServiceOptions {
  std::string role;                      // "primary" or "reducer", for people.
  int64_t max_bytes = int64_t{1} << 30;  // Of gradients that are not done with; beyond it streams wait.
  int64_t max_unanswered = 1024;         // Of one stream; beyond it that waits.
};

// waggle.v1.GradientService; see gradient.proto. Checks what comes (sizes, checksum, that all is finite) and hands it
// to a taker. A gradient that is refused here is counted, among gradients_pushed, gradients_refused and
// gradients_refused_REASON.
class GradientService final : public v1::GradientService::WithRawCallbackMethod_Push<
                                  v1::GradientService::WithRawCallbackMethod_Describe<v1::GradientService::Service>> {
 public:
  // `metrics` outlives the service.
  GradientService(const GradientServiceOptions& options, Metrics* metrics)
      : options_(options), metrics_(metrics), buffers_(options.max_bytes) {}

  // From now on gradients go there; it outlives the service's last stream. Before that streams are UNAVAILABLE.
  void SetTaker(GradientTaker* taker) ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Push(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;

 private:
  GradientTaker* taker() const ABSL_LOCKS_EXCLUDED(mutex_);

  const GradientServiceOptions options_;
  Metrics* const metrics_;
  GradientBuffers buffers_;
  mutable Mutex mutex_;
  GradientTaker* taker_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace waggle
