#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/api/gradients.h"
#include "common/base/mutex.h"
#include "common/base/stop_token.h"
#include "common/base/thread.h"
#include "common/metrics/metrics.h"
#include "common/rpc/message.h"
#include "common/rpc/stream_handler.h"
#include "param_server/gradients/gradient_buffers.h"
#include "waggle/v1/gradient.grpc.pb.h"

namespace waggle {

struct GradientServiceOptions {
  int64_t max_bytes = int64_t{1} << 30;  // Of gradients that are not done with; beyond it streams wait.
  int64_t max_unanswered = 1024;         // Of one stream; beyond it that waits.
  // A stream of whose gradient nothing more comes for so long is ended: others may wait for its memory.
  absl::Duration max_stall = absl::Seconds(30);
};

class GradientUpload;

// waggle.v1.GradientService; see gradient.proto. Serves one run after the other. Checks what comes (sizes, checksum,
// that all is finite) and hands it to the run's taker. A gradient that is refused here is counted, among
// gradients_pushed, gradients_refused and gradients_refused_REASON.
class GradientService final : public v1::GradientService::WithRawCallbackMethod_Push<
                                  v1::GradientService::WithRawCallbackMethod_Describe<v1::GradientService::Service>> {
 public:
  explicit GradientService(const GradientServiceOptions& options = {});
  ~GradientService() override { stop_.RequestStop(); }

  // Begins an experiment's run: `role` is "primary" or "reducer", for people. `metrics` outlives the run's last stream.
  void Begin(const std::string& role, const std::string& experiment_id, Metrics* metrics) ABSL_LOCKS_EXCLUDED(mutex_);

  // From now on gradients of the run go there; it outlives the run's last stream. Those of another model, and those for
  // another experiment, such as of workers that have not heard of its end, are refused at their header, before they
  // take memory. Before that streams are UNAVAILABLE.
  void SetTaker(GradientTaker* taker, GradientModel model) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the run, if one has begun: its streams are ended, at once if they have not ended by themselves within `grace`.
  // Returns when none of them uses its taker or its metrics any more.
  void End(absl::Duration grace) ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Push(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;

 private:
  // Null before there is a taker.
  std::shared_ptr<GradientUpload> NewUpload(std::shared_ptr<StreamPeer<Message<v1::PushGradientResponse>>> peer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends streams that have stalled, until the service's end.
  void Watch() ABSL_LOCKS_EXCLUDED(mutex_);

  std::vector<std::shared_ptr<GradientUpload>> Uploads() ABSL_LOCKS_EXCLUDED(mutex_);

  const GradientServiceOptions options_;
  GradientBuffers buffers_;
  Mutex mutex_;
  CondVar upload_gone_;
  std::string role_ ABSL_GUARDED_BY(mutex_);
  std::string experiment_id_ ABSL_GUARDED_BY(mutex_);
  Metrics* metrics_ ABSL_GUARDED_BY(mutex_) = nullptr;
  GradientTaker* taker_ ABSL_GUARDED_BY(mutex_) = nullptr;
  GradientModel model_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_upload_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::weak_ptr<GradientUpload>> uploads_ ABSL_GUARDED_BY(mutex_);
  const StopToken stop_;
  Thread watch_;  // Last: it uses everything above.
};

}  // namespace waggle
