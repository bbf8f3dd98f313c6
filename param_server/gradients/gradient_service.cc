#include "param_server/gradients/gradient_service.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/base/deadline.h"
#include "common/base/steady_now.h"
#include "common/net/bidi_reactor.h"
#include "common/net/unary_method.h"
#include "param_server/gradients/gradient_upload.h"

namespace waggle {
namespace {

using Request = v1::PushGradientRequest;
using Response = v1::PushGradientResponse;
using Peer = StreamPeer<Message<Response>>;

class PushHandler final : public StreamHandler<Message<Request>, Message<Response>> {
 public:
  using MakeUpload = std::function<std::shared_ptr<GradientUpload>(std::shared_ptr<Peer> peer)>;
  explicit PushHandler(MakeUpload make) : make_(std::move(make)) {}

  void OnOpen(std::shared_ptr<Peer> peer) override {
    peer_ = peer;
    upload_ = make_(std::move(peer));
    if (upload_ == nullptr) {
      peer_->Close(absl::UnavailableError("the weights are not here yet, so that no gradient can be taken"));
    }
  }
  void OnMessage(Message<Request> message) override {
    if (upload_ != nullptr) {
      upload_->Take(std::move(message));
    }
  }
  void OnPeerDone() override {
    if (upload_ != nullptr) {
      upload_->PeerDone();
    }
  }

 private:
  const MakeUpload make_;
  std::shared_ptr<Peer> peer_;
  std::shared_ptr<GradientUpload> upload_;
};

}  // namespace

GradientService::GradientService(const GradientServiceOptions& options)
    : options_(options), buffers_(options.max_bytes), watch_("gradient watch", [this] { Watch(); }) {}

void GradientService::Begin(const std::string& role, const std::string& experiment_id, Metrics* metrics) {
  MutexLock lock(&mutex_);
  role_ = role;
  experiment_id_ = experiment_id;
  metrics_ = metrics;
}

void GradientService::SetTaker(GradientTaker* taker, GradientModel model) {
  MutexLock lock(&mutex_);
  taker_ = taker;
  model_ = std::move(model);
}

std::shared_ptr<GradientUpload> GradientService::NewUpload(std::shared_ptr<Peer> peer) {
  MutexLock lock(&mutex_);
  if (taker_ == nullptr) {
    return nullptr;
  }
  // An upload is listed until it is destroyed, by number: another upload may get its address.
  const auto gone = [this, number = ++last_upload_](GradientUpload* upload) {
    delete upload;
    MutexLock erasing(&mutex_);
    uploads_.erase(number);
    upload_gone_.SignalAll();
  };
  std::shared_ptr<GradientUpload> upload(
      new GradientUpload(std::move(peer), experiment_id_, taker_, model_, &buffers_, metrics_, options_.max_unanswered),
      gone);
  uploads_[last_upload_] = upload;
  return upload;
}

std::vector<std::shared_ptr<GradientUpload>> GradientService::Uploads() {
  std::vector<std::shared_ptr<GradientUpload>> uploads;
  MutexLock lock(&mutex_);
  for (const auto& [number, each] : uploads_) {
    if (std::shared_ptr<GradientUpload> upload = each.lock()) {
      uploads.push_back(std::move(upload));
    }
  }
  return uploads;
}

void GradientService::End(absl::Duration grace) {
  {
    MutexLock lock(&mutex_);
    role_.clear();
    metrics_ = nullptr;
    taker_ = nullptr;
  }
  for (const bool at_once : {false, true}) {
    for (const std::shared_ptr<GradientUpload>& upload : Uploads()) {
      upload->End(at_once);
    }
    const Deadline deadline(at_once ? absl::InfiniteDuration() : grace);
    MutexLock lock(&mutex_);
    while (!uploads_.empty() && deadline.Left() > absl::ZeroDuration()) {
      upload_gone_.WaitFor(&mutex_, deadline.Left());
    }
  }
}

void GradientService::Watch() {
  while (!stop_.WaitFor(options_.max_stall / 4)) {
    for (const std::shared_ptr<GradientUpload>& upload : Uploads()) {
      upload->EndIfStalled(SteadyNow() - options_.max_stall);
    }
  }
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* GradientService::Push(
    grpc::CallbackServerContext* context) {
  return new BidiReactor<Request, Response>(context, std::make_unique<PushHandler>([this](std::shared_ptr<Peer> peer) {
                                              return NewUpload(std::move(peer));
                                            }));
}

grpc::ServerUnaryReactor* GradientService::Describe(grpc::CallbackServerContext* context,
                                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response) {
  return AnswerUnary<v1::DescribeGradientsRequest, v1::DescribeGradientsResponse>(
      context, *request, response, kMaxUnaryBytes, [this](const auto&, auto* answer) {
        MutexLock lock(&mutex_);
        answer->set_role(role_);
        answer->set_ready(taker_ != nullptr);
        if (metrics_ != nullptr) {
          for (const auto& [name, value] : metrics_->TakeSnapshot().counters) {
            (*answer->mutable_counters())[name] = value;
          }
        }
        return absl::OkStatus();
      });
}

}  // namespace waggle
