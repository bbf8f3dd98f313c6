#include "common/hub/hub_watch.h"

#include <utility>

#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/net/blocking_stream.h"
#include "common/net/raw_codec.h"
#include "common/net/retry.h"

namespace waggle {
namespace {

constexpr char kMethod[] = "/waggle.v1.WorkerService/Watch";

}  // namespace

HubWatch::HubWatch(std::shared_ptr<grpc::Channel> channel, const std::string& experiment_id,
                   const std::string& worker_id, std::function<absl::Status(const v1::Assignment&)> take)
    : channel_(std::move(channel)),
      experiment_id_(experiment_id),
      worker_id_(worker_id),
      take_(std::move(take)),
      thread_("hub-watch", [this] { Run(); }) {}

HubWatch::~HubWatch() {
  stop_.RequestStop();
}

void HubWatch::Run() {
  Backoff backoff = NewReconnectBackoff();
  while (!stop_.StopRequested()) {
    const absl::Status status = Listen(&backoff);
    if (!status.ok() && !MayPass(status) && !absl::IsNotFound(status)) {
      LogWarning("the parameter server's news: ", status.message());
    }
    stop_.WaitFor(backoff.Next());
  }
}

absl::Status HubWatch::Listen(Backoff* backoff) {
  v1::WatchWorkerRequest request;
  request.set_experiment_id(experiment_id_);
  request.set_worker_id(worker_id_);
  BlockingStream stream(channel_, kMethod, absl::InfiniteDuration(), stop_);
  stream.WriteLast(EncodeMessage(request, ByteSlices()));
  grpc::ByteBuffer buffer;
  while (stream.Read(&buffer)) {
    Message<v1::Assignment> message;
    WAGGLE_RETURN_IF_ERROR(DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data));
    WAGGLE_RETURN_IF_ERROR(take_(message.header));
    backoff->Reset();
  }
  return stream.Finish();
}

}  // namespace waggle
