#include "replay_server/sample_stream.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/mutex.h"
#include "common/base/status_macros.h"
#include "common/clients/replay_convert.h"
#include "common/rpc/channel.h"

namespace waggle {

class SampleStream::State : public std::enable_shared_from_this<State> {
 public:
  State(Executor* executor, SampleStreamOptions options) : executor_(executor), options_(std::move(options)) {}

  // Called before anything else.
  void Attach(std::shared_ptr<StreamPeer<Message<v1::SampleResponse>>> peer) { peer_ = std::move(peer); }

  bool opened() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return table_ != nullptr;
  }

  void Opened(std::shared_ptr<Table> table, std::shared_ptr<const BatchLayout> layout, int64_t batch_size)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    Message<v1::SampleResponse> response;
    *response.header.mutable_opened() = ToProto(*layout);
    {
      MutexLock lock(&mutex_);
      const int64_t bytes = std::max<int64_t>(1, static_cast<int64_t>(layout->total_bytes));
      max_in_flight_ = std::clamp<int64_t>(options_.max_bytes_in_flight / bytes, 1, options_.max_batches_in_flight);
      inline_ = bytes <= options_.max_inline_bytes;
      table_ = std::move(table);
      layout_ = std::move(layout);
      batch_size_ = batch_size;
    }
    peer_->Send(std::move(response));
  }

  absl::Status AddCredits(uint32_t credits) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      if (credits > options_.max_credits - credits_) {
        return absl::InvalidArgumentError(absl::StrCat("got ", credits, " credits where ", credits_,
                                                       " were left; at most ", options_.max_credits,
                                                       " may be outstanding"));
      }
      credits_ += credits;
    }
    Start();
    return absl::OkStatus();
  }

  void PeerDone() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      peer_done_ = true;
    }
    MaybeClose();
  }

  void Fail(absl::Status status) ABSL_LOCKS_EXCLUDED(mutex_) {
    peer_->Close(std::move(status));  // First: End cancels what waits, which would close it with another status.
    End();
  }

  void End() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::deque<SampledBatch> dropped;  // Destroyed outside the lock.
    std::set<std::shared_ptr<Request>> waiting;
    std::shared_ptr<Table> table;
    {
      MutexLock lock(&mutex_);
      ended_ = true;
      dropped.swap(ready_);
      waiting.swap(requests_);
      table = table_;
    }
    for (const std::shared_ptr<Request>& request : waiting) {
      uint64_t number = 0;
      {
        MutexLock lock(&mutex_);
        number = request->number;
      }
      if (number != 0) {
        table->CancelSample(number);
      }
    }
  }

 private:
  // One batch that the table was asked for.
  struct Request {
    uint64_t number = 0;  // In the table, once known.
    bool answered = false;
  };

  // Asks the table for as many batches as there are credits and room for.
  void Start() ABSL_LOCKS_EXCLUDED(mutex_) {
    for (;;) {
      const auto request = std::make_shared<Request>();
      bool run_here = false;
      {
        MutexLock lock(&mutex_);
        if (ended_ || credits_ == 0 || in_flight_ >= max_in_flight_) {
          return;
        }
        --credits_;
        ++in_flight_;
        requests_.insert(request);
        run_here = inline_;
      }
      if (run_here) {
        Sample(request);
      } else if (!executor_->Submit([self = shared_from_this(), request] { self->Sample(request); }).ok()) {
        Fail(absl::UnavailableError("the replay server is too busy"));
        return;
      }
    }
  }

  void Sample(const std::shared_ptr<Request>& request) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<Table> table;
    std::shared_ptr<const BatchLayout> layout;
    int64_t batch_size = 0;
    {
      MutexLock lock(&mutex_);
      if (ended_) {
        return;
      }
      table = table_;
      layout = layout_;
      batch_size = batch_size_;
    }
    const uint64_t number =
        table->Sample(layout, batch_size, [self = shared_from_this(), request](absl::StatusOr<SampledBatch> batch) {
          self->Sampled(request, std::move(batch));
        });
    bool cancel = false;
    {
      MutexLock lock(&mutex_);
      request->number = number;
      cancel = ended_ && !request->answered && number != 0;  // End has come meanwhile and did not know the number.
    }
    if (cancel) {
      table->CancelSample(number);
    }
  }

  void Sampled(const std::shared_ptr<Request>& request, absl::StatusOr<SampledBatch> batch)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      request->answered = true;
      requests_.erase(request);
    }
    if (!batch.ok()) {
      // A closed table means that this server is about to end: the sampler is to come back, not to give up.
      Fail(absl::IsCancelled(batch.status()) ? absl::UnavailableError("the replay server is stopping")
                                             : batch.status());
      return;
    }
    if (options_.on_sampled != nullptr) {
      options_.on_sampled(static_cast<uint64_t>(batch->layout->fields.back().spec.shape.front()));
    }
    {
      MutexLock lock(&mutex_);
      if (ended_) {
        return;
      }
      ready_.push_back(*std::move(batch));
      if (std::exchange(sending_, true)) {
        return;  // Whoever sends will find it: the pieces of two batches must not mix.
      }
    }
    SendReady();
  }

  void SendReady() ABSL_LOCKS_EXCLUDED(mutex_) {
    for (;;) {
      SampledBatch batch;
      {
        MutexLock lock(&mutex_);
        if (ready_.empty()) {
          sending_ = false;
          return;
        }
        batch = std::move(ready_.front());
        ready_.pop_front();
      }
      Send(batch);
    }
  }

  void Send(const SampledBatch& batch) ABSL_LOCKS_EXCLUDED(mutex_) {
    const size_t total = batch.layout->total_bytes;
    size_t offset = 0;
    do {
      const size_t size = std::min<size_t>(total - offset, kPieceBytes);
      Message<v1::SampleResponse> response;
      if (offset == 0) {
        v1::BatchHeader* header = response.header.mutable_batch();
        header->set_table_items(batch.table_items);
        header->set_priority_sum(batch.priority_sum);
        header->set_min_probability(batch.min_probability);
      }
      response.header.set_data_offset(offset);
      response.data.Append({batch.bytes.get() + offset, size, batch.bytes});
      offset += size;
      if (offset < total) {
        peer_->Send(std::move(response));
      } else {
        peer_->Send(std::move(response), [self = shared_from_this()] { self->Sent(); });
      }
    } while (offset < total);
  }

  void Sent() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      --in_flight_;
    }
    Start();
    MaybeClose();
  }

  void MaybeClose() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      if (!peer_done_ || credits_ > 0 || in_flight_ > 0) {
        return;
      }
    }
    peer_->Close(absl::OkStatus());
  }

  Executor* const executor_;
  const SampleStreamOptions options_;
  std::shared_ptr<StreamPeer<Message<v1::SampleResponse>>> peer_;  // Set once, before anything else.
  mutable Mutex mutex_;
  std::shared_ptr<Table> table_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const BatchLayout> layout_ ABSL_GUARDED_BY(mutex_);
  int64_t batch_size_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t max_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  bool inline_ ABSL_GUARDED_BY(mutex_) = false;
  uint32_t credits_ ABSL_GUARDED_BY(mutex_) =
      0;  // Batches that the client has room for and the table was not asked for.
  int64_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;                        // Batches asked for, and not yet sent.
  std::set<std::shared_ptr<Request>> requests_ ABSL_GUARDED_BY(mutex_);  // Not yet answered.
  std::deque<SampledBatch> ready_ ABSL_GUARDED_BY(mutex_);               // To be sent.
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;                         // SendReady is under way.
  bool peer_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;

  friend class SampleStream;
};

SampleStream::SampleStream(ReplayStore* store, Executor* executor, SampleStreamOptions options)
    : store_(store), state_(std::make_shared<State>(executor, std::move(options))) {}

SampleStream::~SampleStream() {
  state_->End();
}

void SampleStream::OnOpen(std::shared_ptr<StreamPeer<Message<v1::SampleResponse>>> peer) {
  state_->Attach(std::move(peer));
}

void SampleStream::OnMessage(Message<v1::SampleRequest> message) {
  const bool opened = state_->opened();
  absl::Status status;
  if (message.data.size() > 0) {
    status = absl::InvalidArgumentError("a sampler sends no data");
  } else if (message.header.has_open() == opened) {
    status = absl::InvalidArgumentError(opened ? "the stream is open already" : "the first message has to be `open`");
  } else if (!opened) {
    status = Open(message.header.open());
  }
  if (status.ok()) {
    status = state_->AddCredits(message.header.credits());
  }
  if (!status.ok()) {
    state_->Fail(std::move(status));
    return;
  }
  state_->peer_->RequestNext();
}

absl::Status SampleStream::Open(const v1::SampleOpen& open) {
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> table, store_->FindTable(open.table()));
  WAGGLE_ASSIGN_OR_RETURN(BatchLayout layout,
                          MakeBatchLayout(table->config(), open.batch_size(), state_->options_.max_batch_bytes));
  state_->Opened(std::move(table), std::make_shared<const BatchLayout>(std::move(layout)), open.batch_size());
  return absl::OkStatus();
}

void SampleStream::OnPeerDone() {
  state_->PeerDone();
}

}  // namespace waggle
