#include "common/gradient_client/gradient_link.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/mutex.h"
#include "common/base/stop_token.h"
#include "common/base/thread.h"
#include "common/gradient_client/gradient_convert.h"
#include "common/rpc/channel.h"
#include "common/rpc/client_stream.h"
#include "common/rpc/retry.h"
#include "common/tensor/checksum.h"
#include "waggle/v1/gradient.pb.h"

namespace waggle {
namespace {

constexpr char kPush[] = "/waggle.v1.GradientService/Push";

// One attempt of this many is logged.
constexpr int64_t kAttemptsALine = 30;

using Request = v1::PushGradientRequest;
using Response = v1::PushGradientResponse;
using Peer = StreamPeer<Message<Request>>;

// A gradient as it is sent: its numbers are shared, not copied.
struct Outgoing {
  GradientPush push;
  GradientTaker::Answer answer;
  v1::GradientHeader header;
};

// State that the link and its streams share; a stream may outlive the link for a moment.
struct State {
  Mutex mutex;
  CondVar changed;
  std::map<uint64_t, std::shared_ptr<const Outgoing>> unanswered ABSL_GUARDED_BY(mutex);  // By request.
  uint64_t last_request ABSL_GUARDED_BY(mutex) = 0;
  std::shared_ptr<Peer> peer ABSL_GUARDED_BY(mutex);  // The open stream's; null if there is none.
  bool closed ABSL_GUARDED_BY(mutex) = true;          // No stream is left.
  absl::Status closed_with ABSL_GUARDED_BY(mutex);
  int64_t failed ABSL_GUARDED_BY(mutex) = 0;  // Attempts since the last answer.
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

class PushStream final : public ClientStreamHandler<Message<Response>, Message<Request>> {
 public:
  explicit PushStream(std::shared_ptr<State> state) : state_(std::move(state)) {}

  void OnOpen(std::shared_ptr<Peer> peer) override {
    peer_ = peer;
    MutexLock lock(&state_->mutex);
    for (const auto& [request, outgoing] : state_->unanswered) {
      Send(*outgoing, peer.get());
    }
    state_->peer = std::move(peer);
  }

  void OnMessage(Message<Response> message) override {
    std::shared_ptr<const Outgoing> answered;
    {
      MutexLock lock(&state_->mutex);
      const auto it = state_->unanswered.find(message.header.request());
      if (it != state_->unanswered.end()) {
        answered = it->second;
      }
    }
    absl::StatusOr<GradientAnswer> answer =
        answered == nullptr ? absl::InvalidArgumentError("an answer to a gradient that was not pushed")
                            : FromProto(message.header, answered->push.members.size());
    if (!answer.ok()) {
      peer_->Close(answer.status());
      return;
    }
    {
      MutexLock lock(&state_->mutex);
      state_->failed = 0;
      if (state_->ending || state_->unanswered.erase(message.header.request()) == 0) {
        return;
      }
    }
    answered->answer(*std::move(answer));
    peer_->RequestNext();
  }

  void OnPeerDone() override {}

  void OnClosed(absl::Status status) override {
    std::shared_ptr<Peer> dropped;  // Destroyed outside the lock.
    MutexLock lock(&state_->mutex);
    dropped = std::move(state_->peer);
    state_->peer = nullptr;
    state_->closed = true;
    state_->closed_with = std::move(status);
    state_->changed.SignalAll();
  }

 private:
  const std::shared_ptr<State> state_;
  std::shared_ptr<Peer> peer_;
};

class GradientLink final : public GradientTaker {
 public:
  GradientLink(std::string experiment_id, std::function<std::string(int64_t)> address)
      : experiment_id_(std::move(experiment_id)),
        address_(std::move(address)),
        state_(std::make_shared<State>()),
        thread_("gradient link", [this] { Run(); }) {}

  ~GradientLink() override {
    stop_.RequestStop();
    std::map<uint64_t, std::shared_ptr<const Outgoing>> dropped;  // Destroyed outside the lock.
    std::shared_ptr<Peer> peer;
    {
      MutexLock lock(&state_->mutex);
      state_->ending = true;
      peer = state_->peer;
      dropped.swap(state_->unanswered);
      state_->changed.SignalAll();
    }
    if (peer != nullptr) {
      peer->Close(absl::CancelledError("the link ends"));
    }
    thread_.Join();
    // Waits until no answer is being given.
    MutexLock lock(&state_->mutex);
    while (!state_->closed) {
      state_->changed.Wait(&state_->mutex);
    }
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
    state_->changed.SignalAll();
  }

 private:
  // Connects, again after each loss, until the link ends.
  void Run() {
    Backoff backoff = NewReconnectBackoff();
    std::string connected;
    std::shared_ptr<grpc::Channel> channel;
    while (!stop_.StopRequested()) {
      int64_t failed = 0;
      {
        MutexLock lock(&state_->mutex);
        failed = state_->failed++;
      }
      const std::string address = address_(failed);
      if (!address.empty()) {
        channel = address == connected ? channel : NewChannel(address, "gradients");
        connected = address;
        const absl::Status ended = Stream(channel);
        if (!stop_.StopRequested() && failed % kAttemptsALine == 0) {
          LogInfo("gradients cannot be pushed to ", address, " for now: ", ended.message());
        }
      }
      {
        MutexLock lock(&state_->mutex);
        if (state_->failed == 0) {
          backoff.Reset();
        }
      }
      stop_.WaitFor(backoff.Next());
    }
  }

  // Runs a stream to its end, and returns its status.
  absl::Status Stream(const std::shared_ptr<grpc::Channel>& channel) {
    {
      MutexLock lock(&state_->mutex);
      if (state_->ending) {
        return absl::OkStatus();
      }
      state_->closed = false;
    }
    OpenClientStream<Request, Response>(channel, kPush, std::make_unique<PushStream>(state_));
    std::shared_ptr<Peer> peer;
    absl::Status status;
    {
      MutexLock lock(&state_->mutex);
      while (!state_->closed && !state_->ending) {
        state_->changed.Wait(&state_->mutex);
      }
      peer = state_->peer;
      status = state_->closed_with;
    }
    if (peer != nullptr) {
      peer->Close(absl::CancelledError("the link ends"));
    }
    return status;
  }

  const std::string experiment_id_;
  const std::function<std::string(int64_t)> address_;
  const StopToken stop_;
  const std::shared_ptr<State> state_;
  Thread thread_;  // Last: it uses everything above.
};

}  // namespace

std::unique_ptr<GradientTaker> NewGradientLink(std::string experiment_id,
                                               std::function<std::string(int64_t failed)> address) {
  return std::make_unique<GradientLink>(std::move(experiment_id), std::move(address));
}

}  // namespace waggle
