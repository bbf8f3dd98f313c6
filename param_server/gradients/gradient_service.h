#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/stop_token.h"
#include "common/base/threads/thread.h"
#include "common/hub/ports/gradients.h"
#include "common/net/message.h"
#include "common/net/stream_handler.h"
#include "param_server/gradients/gradient_buffers.h"
#include "waggle/v1/gradient.grpc.pb.h"

namespace waggle {

struct GradientServiceOptions {
  int64_t max_bytes = int64_t{1} << 30;  // Gradients in memory; streams wait if they would take more.
  int64_t max_unanswered = 1024;         // Gradients of one stream without an answer; the stream waits if it has more.
  // A stream that stalls amid a gradient for this long is ended, as others may wait for its memory.
  absl::Duration max_stall = absl::Seconds(30);
};

class GradientUpload;

// waggle.v1.GradientService; see gradient.proto. Serves one run after another. Checks each gradient's sizes, checksum
// and numbers, and passes it to the run's taker. Refused gradients count in gradients_pushed, gradients_refused and
// gradients_refused_REASON.
class GradientService final : public v1::GradientService::WithRawCallbackMethod_Push<
                                  v1::GradientService::WithRawCallbackMethod_Describe<v1::GradientService::Service>> {
 public:
  explicit GradientService(const GradientServiceOptions& options = {});
  ~GradientService() override { stop_.RequestStop(); }

  // Begins an experiment's run. `role`, "primary" or "reducer", is shown to users. `metrics` outlives the run's last
  // stream.
  void Begin(const std::string& role, const std::string& experiment_id, Metrics* metrics) ABSL_LOCKS_EXCLUDED(mutex_);

  // Passes the run's gradients to `taker`, which outlives the run's last stream. Gradients of another model or another
  // experiment are refused at their header, before they take memory. Streams are UNAVAILABLE before this call.
  void SetTaker(GradientTaker* taker, GradientModel model) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ends the run, if there is one. Streams that are still open after `grace` are aborted. Returns when no stream uses
  // the taker or the metrics.
  void End(absl::Duration grace) ABSL_LOCKS_EXCLUDED(mutex_);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Push(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* Describe(grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override;

 private:
  // Null if there is no taker.
  std::shared_ptr<GradientUpload> NewUpload(std::shared_ptr<StreamPeer<Message<v1::PushGradientResponse>>> peer)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends stalled streams until the service is destroyed.
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
