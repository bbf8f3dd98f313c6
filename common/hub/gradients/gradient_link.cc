#include "common/hub/gradients/gradient_link.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"
#include "common/base/threads/mutex.h"
#include "common/hub/gradients/gradient_convert.h"
#include "common/net/channel.h"
#include "common/net/client_stream.h"
#include "common/net/stream_keeper.h"
#include "waggle/v1/gradient.pb.h"

namespace waggle {
namespace {

constexpr char kPush[] = "/waggle.v1.GradientService/Push";

using Request = v1::PushGradientRequest;
using Response = v1::PushGradientResponse;
using Peer = StreamPeer<Message<Request>>;

// A gradient to send, which shares its numbers.
struct Outgoing {
  GradientPush push;
  GradientTaker::Answer answer;
  v1::GradientHeader header;
};

// Shared with the link's streams, which may outlive it briefly.
struct State {
  Mutex mutex;
  std::map<uint64_t, std::shared_ptr<const Outgoing>> unanswered ABSL_GUARDED_BY(mutex);  // By request.
  uint64_t last_request ABSL_GUARDED_BY(mutex) = 0;
  std::shared_ptr<Peer> peer ABSL_GUARDED_BY(mutex);  // The open stream's; null without one.
  int64_t failed ABSL_GUARDED_BY(mutex) = 0;          // Attempts since the last answer.
  bool ending ABSL_GUARDED_BY(mutex) = false;
};

void Send(const Outgoing& outgoing, Peer* peer) {
  const size_t total = outgoing.header.total_bytes();
  const auto* const bytes = reinterpret_cast<const char*>(outgoing.push.data.get());
  Message<Request> message;
  *message.header.mutable_header() = outgoing.header;
  for (size_t sent = 0; sent < total;) {
    const size_t size = std::min(total - sent, static_cast<size_t>(kPieceBytes));
    message.data = ByteSlices({bytes + sent, size, outgoing.push.data});
    peer->Send(message);
    message.header.clear_header();
    sent += size;
  }
}

class PushStream final : public StreamAttempt<Message<Response>, Message<Request>> {
 public:
  PushStream(std::shared_ptr<State> state, StreamKeeper* keeper) : StreamAttempt(keeper), state_(std::move(state)) {}

 private:
  void Begin() override {
    MutexLock lock(&state_->mutex);
    for (const auto& [request, outgoing] : state_->unanswered) {
      Send(*outgoing, peer().get());
    }
    state_->peer = peer();
  }

  absl::Status Handle(Message<Response> message) override {
    std::shared_ptr<const Outgoing> answered;
    {
      MutexLock lock(&state_->mutex);
      const auto it = state_->unanswered.find(message.header.request());
      if (it != state_->unanswered.end()) {
        answered = it->second;
      }
    }
    if (answered == nullptr) {
      return absl::InvalidArgumentError("an answer to a gradient that was not pushed");
    }
    WAGGLE_ASSIGN_OR_RETURN(GradientAnswer answer, FromProto(message.header, answered->push.members.size()));
    {
      MutexLock lock(&state_->mutex);
      state_->failed = 0;
      if (state_->ending || state_->unanswered.erase(message.header.request()) == 0) {
        return absl::OkStatus();
      }
    }
    SetOpen();
    answered->answer(std::move(answer));
    return absl::OkStatus();
  }

  void Closed() override {
    std::shared_ptr<Peer> dropped;  // Destroyed outside the lock.
    MutexLock lock(&state_->mutex);
    dropped.swap(state_->peer);
  }

  const std::shared_ptr<State> state_;
};

class GradientLink final : public GradientTaker {
 public:
  GradientLink(std::string experiment_id, std::function<std::string(int64_t)> address)
      : experiment_id_(std::move(experiment_id)),
        address_(std::move(address)),
        state_(std::make_shared<State>()),
        keeper_({"pushing gradients", [this](StreamKeeper* keeper) { return Open(keeper); }}) {}

  // The end of keeper_ waits until no answer is being given.
  ~GradientLink() override {
    std::map<uint64_t, std::shared_ptr<const Outgoing>> dropped;  // Destroyed outside the lock.
    MutexLock lock(&state_->mutex);
    state_->ending = true;
    dropped.swap(state_->unanswered);
  }

  void Take(GradientPush push, Answer answer) override {
    auto outgoing = std::make_shared<Outgoing>();
    outgoing->header = ToProto(push);
    outgoing->header.set_experiment_id(experiment_id_);
    outgoing->header.set_checksum(Checksum(push.data.get(), outgoing->header.total_bytes()));
    outgoing->push = std::move(push);
    outgoing->answer = std::move(answer);
    MutexLock lock(&state_->mutex);
    if (state_->ending) {
      return;
    }
    const uint64_t request = ++state_->last_request;
    outgoing->header.set_request(request);
    state_->unanswered[request] = outgoing;
    if (state_->peer != nullptr) {  // Under the lock, so that the pieces of two gradients do not mix.
      Send(*outgoing, state_->peer.get());
    }
  }

 private:
  bool Open(StreamKeeper* keeper) {
    int64_t failed = 0;
    {
      MutexLock lock(&state_->mutex);
      failed = state_->failed++;
    }
    const std::string address = address_(failed);
    if (address.empty()) {
      return false;
    }
    if (address != connected_) {
      channel_ = NewChannel(address, "gradients");
      connected_ = address;
    }
    OpenClientStream<Request, Response>(channel_, kPush, std::make_unique<PushStream>(state_, keeper));
    return true;
  }

  const std::string experiment_id_;
  const std::function<std::string(int64_t)> address_;
  const std::shared_ptr<State> state_;
  // Owned by the keeper's thread.
  std::string connected_;
  std::shared_ptr<grpc::Channel> channel_;
  StreamKeeper keeper_;  // Last: it uses everything above.
};

}  // namespace

std::unique_ptr<GradientTaker> NewGradientLink(std::string experiment_id,
                                               std::function<std::string(int64_t failed)> address) {
  return std::make_unique<GradientLink>(std::move(experiment_id), std::move(address));
}

}  // namespace waggle
