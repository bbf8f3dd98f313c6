#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/base/metrics/metrics.h"
#include "common/base/tensor/byte_slices.h"
#include "common/base/tensor/checksum.h"
#include "common/base/threads/mutex.h"
#include "common/hub/ports/gradients.h"
#include "common/net/message.h"
#include "common/net/stream_handler.h"
#include "param_server/gradients/gradient_buffers.h"
#include "waggle/v1/gradient.pb.h"

namespace waggle {

// One stream of Push: assembles gradients from their pieces and passes them to a GradientTaker. The wait for a buffer
// and the taker's answer may outlast the stream, and do not keep the upload alive. Each message is requested after the
// last one was handled, so methods without "Any thread" are called one at a time.
class GradientUpload final : public std::enable_shared_from_this<GradientUpload> {
 public:
  using Request = v1::PushGradientRequest;
  using Response = v1::PushGradientResponse;
  using Peer = StreamPeer<Message<Response>>;

  // At most `max_unanswered` gradients of the stream have no answer at one time.
  GradientUpload(std::shared_ptr<Peer> peer, std::string experiment_id, GradientTaker* taker, GradientModel model,
                 GradientBuffers* buffers, Metrics* metrics, int64_t max_unanswered);

  void Take(Message<Request> message);
  // Any thread. Ends the stream if it has waited for the rest of a gradient, which holds a buffer, at least since
  // `since`.
  void EndIfStalled(absl::Time since);
  // Any thread. Ends the stream, because its run has ended: at once, or after the message that is being sent.
  void End(bool at_once);
  // The peer will push no more. The stream ends with the last answer.
  void PeerDone();

 private:
  void Begin(Message<Request> message);
  void Append(const ByteSlices& piece);
  // Checks the numbers that became complete since the last call. They are still in the cache.
  void CheckFinite();
  void HandOver();
  // Any thread. A gradient is unanswered until its answer was sent: this bounds the answers that a peer does not read.
  void Answered(uint64_t request, const GradientAnswer& answer);
  // Any thread.
  void AnswerSent();
  // Requests the next message after the answer was sent. The members of a refused sum must be sent singly.
  void Refuse(int members, GradientVerdict verdict, const std::string& message);
  void Send(uint64_t request, const GradientAnswer& answer, std::function<void()> sent);

  const std::shared_ptr<Peer> peer_;
  const std::string experiment_id_;
  GradientTaker* const taker_;
  const GradientModel model_;
  GradientBuffers* const buffers_;
  Metrics* const metrics_;
  const int64_t max_unanswered_;
  // The present gradient.
  GradientPush push_;
  uint64_t request_ = 0;
  uint64_t checksum_ = 0;
  size_t received_ = 0;
  int64_t checked_ = 0;  // Numbers that were checked.
  bool finite_ = true;   // True if these are finite.
  std::unique_ptr<Checksummer> checksummer_;
  ByteSlices first_;               // While there is no buffer.
  std::shared_ptr<float> buffer_;  // Null between two gradients.
  bool skipping_ = false;          // A gradient was refused for its header: its rest is dropped.
  Mutex mutex_;
  int64_t unanswered_ ABSL_GUARDED_BY(mutex_) = 0;
  bool paused_ ABSL_GUARDED_BY(mutex_) = false;  // The next message is requested after the next answer.
  bool peer_done_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time waits_since_ ABSL_GUARDED_BY(mutex_) =
      absl::InfiniteFuture();  // Start of the wait for the rest of a gradient.
};

}  // namespace waggle
