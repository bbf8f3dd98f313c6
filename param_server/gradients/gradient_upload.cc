#include "param_server/gradients/gradient_upload.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/steady_now.h"
#include "common/hub/gradients/gradient_convert.h"
#include "common/net/channel.h"
#include "common/nn/flat_kernels.h"

namespace waggle {
namespace {

constexpr size_t kMaxShownId = 100;  // Bytes of a peer's experiment_id that an answer repeats.

}  // namespace

GradientUpload::GradientUpload(std::shared_ptr<Peer> peer, std::string experiment_id, GradientTaker* taker,
                               GradientModel model, GradientBuffers* buffers, Metrics* metrics, int64_t max_unanswered)
    : peer_(std::move(peer)),
      experiment_id_(std::move(experiment_id)),
      taker_(taker),
      model_(std::move(model)),
      buffers_(buffers),
      metrics_(metrics),
      max_unanswered_(max_unanswered) {}

void GradientUpload::Take(Message<Request> message) {
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

void GradientUpload::EndIfStalled(absl::Time since) {
  bool stalled = false;
  {
    MutexLock lock(&mutex_);
    stalled = waits_since_ <= since;
  }
  if (stalled) {
    peer_->Abort(absl::DeadlineExceededError("the rest of a gradient does not come"));
  }
}

void GradientUpload::End(bool at_once) {
  const absl::Status ended = absl::UnavailableError("this gradient worker's part in the run is over");
  if (at_once) {
    peer_->Abort(ended);
  } else {
    peer_->Close(ended);
  }
}

void GradientUpload::PeerDone() {
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

void GradientUpload::Begin(Message<Request> message) {
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

void GradientUpload::Append(const ByteSlices& piece) {
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

void GradientUpload::CheckFinite() {
  const auto whole = static_cast<int64_t>(received_ / sizeof(float));
  finite_ = finite_ && std::isfinite(SumOfSquares(buffer_.get() + checked_, whole - checked_));
  checked_ = whole;
}

void GradientUpload::HandOver() {
  if (!finite_) {
    buffer_ = nullptr;
    // One of several members is not finite, or their sum overflowed.
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

void GradientUpload::Answered(uint64_t request, const GradientAnswer& answer) {
  Send(request, answer, [self = shared_from_this()] { self->AnswerSent(); });
}

void GradientUpload::AnswerSent() {
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

void GradientUpload::Refuse(int members, GradientVerdict verdict, const std::string& message) {
  GradientAnswer answer;
  answer.send_singly = members != 1;
  if (members == 1) {
    answer.results.push_back({verdict, {}, message});
    metrics_->Add("gradients_pushed", 1);
    CountVerdict(verdict, metrics_);
  }
  Send(request_, answer, [peer = peer_] { peer->RequestNext(); });
}

void GradientUpload::Send(uint64_t request, const GradientAnswer& answer, std::function<void()> sent) {
  Message<Response> message;
  message.header = ToProto(answer);
  message.header.set_request(request);
  peer_->Send(std::move(message), std::move(sent));
}

}  // namespace waggle
