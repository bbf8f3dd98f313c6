#include "param_server/gradients/gradient_service.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/deadline.h"
#include "common/base/steady_now.h"
#include "common/gradient_client/gradient_convert.h"
#include "common/nn/flat_kernels.h"
#include "common/rpc/bidi_reactor.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_method.h"
#include "common/tensor/checksum.h"

namespace waggle {
namespace {

using Request = v1::PushGradientRequest;
using Response = v1::PushGradientResponse;
using Peer = StreamPeer<Message<Response>>;

constexpr size_t kMaxShownId = 100;  // Bytes of a peer's experiment_id that an answer repeats.

}  // namespace

// One stream: takes gradients together from their pieces. The wait for a buffer and answers may outlive the stream, and
// do not keep it. The next message is asked for when this one is done with, and the answer to what is refused here
// is away, so that all but the answers is one call at a time.
class GradientUpload final : public std::enable_shared_from_this<GradientUpload> {
 public:
  GradientUpload(std::shared_ptr<Peer> peer, std::string experiment_id, GradientTaker* taker, GradientModel model,
                 GradientBuffers* buffers, Metrics* metrics, int64_t max_unanswered)
      : peer_(std::move(peer)),
        experiment_id_(std::move(experiment_id)),
        taker_(taker),
        model_(std::move(model)),
        buffers_(buffers),
        metrics_(metrics),
        max_unanswered_(max_unanswered) {}

  void Take(Message<Request> message) {
    if (message.header.has_header()) {
      Begin(std::move(message));
    } else if (skipping_) {
      peer_->RequestNext();
    } else {
      {
        MutexLock lock(&mutex_);
        waits_since_ = absl::InfiniteFuture();
      }
      Append(message.data);
    }
  }

  // Ends the stream if the rest of a gradient, which has its buffer, has been waited for since then. Any thread.
  void EndIfStalled(absl::Time since) {
    bool stalled = false;
    {
      MutexLock lock(&mutex_);
      stalled = waits_since_ <= since;
    }
    if (stalled) {
      peer_->Abort(absl::DeadlineExceededError("the rest of a gradient does not come"));
    }
  }

  // Ends the stream: its run has ended. At once, or with the message that is on its way. Any thread.
  void End(bool at_once) {
    const absl::Status ended = absl::UnavailableError("this gradient worker's part in the run is over");
    if (at_once) {
      peer_->Abort(ended);
    } else {
      peer_->Close(ended);
    }
  }

  // The peer will push no more: the stream ends with the last answer.
  void PeerDone() {
    if (buffer_ != nullptr) {
      peer_->Close(absl::InvalidArgumentError("the stream ends amid a gradient"));
      return;
    }
    bool ends = false;
    {
      MutexLock lock(&mutex_);
      peer_done_ = true;
      ends = unanswered_ == 0;
    }
    if (ends) {
      peer_->Close(absl::OkStatus());
    }
  }

 private:
  void Begin(Message<Request> message) {
    if (buffer_ != nullptr) {
      peer_->Close(absl::InvalidArgumentError("a gradient begins before the one before it is complete"));
      return;
    }
    const v1::GradientHeader& header = message.header.header();
    request_ = header.request();
    checksum_ = header.checksum();
    absl::StatusOr<GradientPush> push = FromProto(header);
    const bool of_other_run = header.experiment_id() != experiment_id_;
    skipping_ = !push.ok() || of_other_run || push->model != model_;
    if (!push.ok()) {
      Refuse(header.members_size(), GradientVerdict::kMalformed, std::string(push.status().message()));
      return;
    }
    if (of_other_run) {
      Refuse(header.members_size(), GradientVerdict::kWrongModel,
             absl::StrCat("the gradient is for experiment \"",
                          absl::CHexEscape(header.experiment_id().substr(0, kMaxShownId)), "\"; wanted \"",
                          experiment_id_, "\""));
      return;
    }
    if (skipping_) {
      Refuse(header.members_size(), GradientVerdict::kWrongModel,
             absl::StrCat("the gradient is of ", push->model.DebugString(), "; wanted ", model_.DebugString()));
      return;
    }
    if (message.data.size() > static_cast<size_t>(kPieceBytes)) {  // It may wait long.
      peer_->Close(absl::InvalidArgumentError(
          absl::StrCat("a first piece of ", message.data.size(), " bytes; at most ", kPieceBytes)));
      return;
    }
    push_ = *std::move(push);
    received_ = 0;
    checked_ = 0;
    finite_ = true;
    checksummer_ = std::make_unique<Checksummer>();
    first_ = std::move(message.data);
    buffers_->Take(push_.model.NumElements(), weak_from_this(), [this](std::shared_ptr<float> buffer) {
      buffer_ = std::move(buffer);
      Append(std::exchange(first_, {}));
    });
  }

  void Append(const ByteSlices& piece) {
    const size_t total = static_cast<size_t>(push_.model.NumElements()) * sizeof(float);
    if (buffer_ == nullptr || piece.size() > total - received_) {
      peer_->Close(absl::InvalidArgumentError(
          buffer_ == nullptr
              ? "bytes came before a header"
              : absl::StrCat(received_ + piece.size(), " bytes have come where ", total, " were announced")));
      buffer_ = nullptr;
      return;
    }
    char* const bytes = reinterpret_cast<char*>(buffer_.get());
    for (const ByteSlice& slice : piece.slices()) {
      std::memcpy(bytes + received_, slice.data, slice.size);
      checksummer_->Update(bytes + received_, slice.size);
      received_ += slice.size;
      CheckFinite();
    }
    if (received_ < total) {
      {
        MutexLock lock(&mutex_);
        waits_since_ = SteadyNow();
      }
      peer_->RequestNext();
      return;
    }
    if (checksummer_->Digest() != checksum_) {
      buffer_ = nullptr;
      peer_->Close(absl::DataLossError("the bytes do not have the checksum that was announced"));
      return;
    }
    HandOver();
  }

  // Of the numbers that have come whole since the last time: they are still in the cache.
  void CheckFinite() {
    const auto whole = static_cast<int64_t>(received_ / sizeof(float));
    finite_ = finite_ && std::isfinite(SumOfSquares(buffer_.get() + checked_, whole - checked_));
    checked_ = whole;
  }

  void HandOver() {
    if (!finite_) {
      buffer_ = nullptr;
      // Of several members it is one, or the sum alone has overflowed.
      Refuse(static_cast<int>(push_.members.size()), GradientVerdict::kNotFinite,
             "a number of the gradient is not finite");
      return;
    }
    push_.data = std::move(buffer_);
    buffer_ = nullptr;
    bool full = false;
    {
      MutexLock lock(&mutex_);
      full = ++unanswered_ >= max_unanswered_;
      paused_ = full;
    }
    taker_->Take(std::exchange(push_, {}), [weak = weak_from_this(), request = request_](const GradientAnswer& answer) {
      if (const std::shared_ptr<GradientUpload> self = weak.lock()) {
        self->Answered(request, answer);
      }
    });
    if (!full) {
      peer_->RequestNext();
    }
  }

  // Any thread. A gradient is unanswered until its answer is away: what a peer does not read is bounded by it.
  void Answered(uint64_t request, const GradientAnswer& answer) {
    Send(request, answer, [self = shared_from_this()] { self->AnswerSent(); });
  }

  // Any thread.
  void AnswerSent() {
    bool resumed = false;
    bool ends = false;
    {
      MutexLock lock(&mutex_);
      ends = --unanswered_ == 0 && peer_done_;
      resumed = std::exchange(paused_, false);
    }
    if (ends) {
      peer_->Close(absl::OkStatus());
    } else if (resumed) {
      peer_->RequestNext();
    }
  }

  // Goes on once the answer is away. A sum is to be sent singly, so that each member is refused by itself.
  void Refuse(int members, GradientVerdict verdict, const std::string& message) {
    GradientAnswer answer;
    answer.send_singly = members != 1;
    if (members == 1) {
      answer.results.push_back({verdict, {}, message});
      metrics_->Add("gradients_pushed", 1);
      CountVerdict(verdict, metrics_);
    }
    Send(request_, answer, [peer = peer_] { peer->RequestNext(); });
  }

  void Send(uint64_t request, const GradientAnswer& answer, std::function<void()> sent) {
    Message<Response> message;
    message.header = ToProto(answer);
    message.header.set_request(request);
    peer_->Send(std::move(message), std::move(sent));
  }

  const std::shared_ptr<Peer> peer_;
  const std::string experiment_id_;
  GradientTaker* const taker_;
  const GradientModel model_;
  GradientBuffers* const buffers_;
  Metrics* const metrics_;
  const int64_t max_unanswered_;
  // Of the gradient that is coming.
  GradientPush push_;
  uint64_t request_ = 0;
  uint64_t checksum_ = 0;
  size_t received_ = 0;
  int64_t checked_ = 0;  // Numbers that were looked at…
  bool finite_ = true;   // …and are finite.
  std::unique_ptr<Checksummer> checksummer_;
  ByteSlices first_;               // While there is no buffer.
  std::shared_ptr<float> buffer_;  // Null between two gradients.
  bool skipping_ = false;          // The rest of one that was refused for its header.
  Mutex mutex_;
  int64_t unanswered_ ABSL_GUARDED_BY(mutex_) = 0;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;  // The next message is asked for with the next answer.
  bool peer_done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time waits_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();  // For the rest of a gradient.
};

namespace {

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
  // Counted as there until it is destroyed. Its address may be another one's by then.
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
