#include "replay_server/sample_stream.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/guard.h"
#include "common/base/mutex.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/clients/replay_convert.h"
#include "replay_server/batch_cutter.h"
#include "replay_server/batch_messages.h"
#include "replay_server/lane_groups.h"
#include "replay_server/table/refusal_reasons.h"

namespace waggle {

absl::Status SampleStreamOptions::Validate() const {
  Problems problems;
  const auto at_least = [&problems](absl::string_view field, int64_t value, int64_t least) {
    problems.AddUnless(value >= least, field, ": ", value, " is less than ", least);
  };
  at_least("max_batch_bytes", max_batch_bytes, 1);
  at_least("max_batch_items", max_batch_items, 1);
  at_least("max_credits", max_credits, 1);
  at_least("max_batches_in_flight", max_batches_in_flight, 1);
  at_least("max_bytes_in_flight", max_bytes_in_flight, 1);
  at_least("max_inline_bytes", max_inline_bytes, 0);
  return problems.ToStatus("", "; ");
}

class SampleStream::State : public std::enable_shared_from_this<State> {
 public:
  State(Executor* executor, Executor* disk_executor, std::shared_ptr<ByteBudget> budget,
        std::shared_ptr<BatchMemory> memory, SampleStreamOptions options)
      : lane_(executor, LaneOf(kSampleLanes)),
        disk_lane_(disk_executor, LaneOf(kSampleLanes)),
        budget_(std::move(budget)),
        memory_(std::move(memory)),
        options_(std::move(options)) {}

  // Called before anything else.
  void Attach(std::shared_ptr<StreamPeer<Message<v1::SampleResponse>>> peer) { peer_ = std::move(peer); }

  bool opened() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return table_ != nullptr;
  }

  void Opened(std::shared_ptr<Table> table, std::shared_ptr<const BatchLayout> layout, int64_t batch_size, Codec codec,
              const std::string& who) ABSL_LOCKS_EXCLUDED(mutex_) {
    Message<v1::SampleResponse> response;
    *response.header.mutable_opened() = ToProto(*layout);
    std::shared_ptr<Requester> requester = table->requesters()->Add(Requester::Kind::kSampler, who);
    Requester::Presence presence({requester});
    {
      MutexLock lock(&mutex_);
      const int64_t bytes = std::max<int64_t>(1, static_cast<int64_t>(layout->total_bytes));
      max_in_flight_ = std::clamp<int64_t>(options_.max_bytes_in_flight / bytes, 1, options_.max_batches_in_flight);
      table_ = std::move(table);
      layout_ = std::move(layout);
      batch_size_ = batch_size;
      cutter_ = std::make_shared<BatchCutter>(codec, memory_.get());
      requester_ = std::move(requester);
      presence_ = std::move(presence);
    }
    peer_->Send(std::move(response));
  }

  // Takes the request's draws and credits in.
  absl::Status Add(const v1::SampleRequest& request) ABSL_LOCKS_EXCLUDED(mutex_) {
    WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadRequest, CheckListLength("draw_counted", request.draw_counted_size(),
                                                                            "draw_items", request.draw_items_size())));
    {
      MutexLock lock(&mutex_);
      requester_->Looks(request.waits_for(), CoarseSteadyNanoseconds());
      const size_t more = size_t{request.credits()} + static_cast<size_t>(request.draw_items_size());
      if (more > options_.max_credits - wanted_.size()) {
        return Refusal(absl::StatusCode::kResourceExhausted, reasons::kTooManyCredits, "got ", more, " credits where ",
                       wanted_.size(), " were left; at most ", options_.max_credits, " may be outstanding");
      }
      for (int i = 0; i < request.draw_items_size(); ++i) {
        if (request.draw_items(i) > batch_size_) {
          return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadDraw, "draw_items: got ",
                         request.draw_items(i), "; the stream was opened for batches of ", batch_size_);
        }
        // Of several tables one may count all of a batch, and have none of its items.
        if (request.draw_counted(i) > batch_size_) {
          return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadDraw, "draw_counted: got ",
                         request.draw_counted(i), "; the stream was opened for batches of ", batch_size_);
        }
        wanted_.push_back({request.draw_items(i), request.draw_counted(i)});
      }
      wanted_.insert(wanted_.end(), request.credits(), {batch_size_, batch_size_});
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
    std::deque<std::shared_ptr<Request>> dropped;  // Destroyed outside the lock.
    std::vector<uint64_t> waiting;
    std::shared_ptr<Table> table;
    Requester::Presence presence;
    {
      MutexLock lock(&mutex_);
      ended_ = true;
      presence = std::move(presence_);
      dropped.swap(requests_);
      for (const std::shared_ptr<Request>& request : dropped) {
        if (!request->answered && request->number != 0) {
          waiting.push_back(request->number);
        }
      }
      table = table_;
    }
    for (const uint64_t number : waiting) {
      table->CancelSample(number);
    }
    budget_->Withdraw(this);
  }

 private:
  // One batch that the table was asked for. Guarded by mutex_, but for what is set at first.
  struct Request {
    DrawRequest draw;
    std::shared_ptr<const BatchLayout> layout;
    uint64_t number = 0;      // In the table, once known.
    bool reads_disk = false;  // May have to, for its rows.
    bool answered = false;
    SampledBatch facts;              // Of the batch, without its bytes,
    std::vector<BatchPiece> pieces;  // and these, once it is gathered: at least one.
    ByteBudget::Share share;         // Of the budget, until they are sent, where they are not the memory that has it.
  };

  // Asks the table for as many batches as are wanted and there is room for. One call does that at a time, so that the
  // table is asked in the order in which batches go out: whoever comes meanwhile leaves it to that one, which looks
  // again before it ends.
  void Start() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      if (std::exchange(starting_, true)) {
        return;
      }
    }
    for (;;) {
      const auto request = std::make_shared<Request>();
      std::shared_ptr<Table> table;
      std::shared_ptr<Requester> requester;
      {
        MutexLock lock(&mutex_);
        if (ended_ || wanted_.empty() || in_flight_ >= max_in_flight_) {
          starting_ = false;
          return;
        }
        request->draw = wanted_.front();
        wanted_.pop_front();
        request->layout = layout_;
        request->reads_disk = table_->tier() != nullptr;
        table = table_;
        requester = requester_;
        ++in_flight_;
        requests_.push_back(request);
      }
      if (absl::Status status = FitLayout(table->created(), request.get()); !status.ok()) {
        Fail(std::move(status));
        return;  // For good: the stream has ended.
      }
      Draw(request, table.get(), requester);
    }
  }

  // The stream's layout is that of a whole batch.
  static absl::Status FitLayout(const TableConfig& config, Request* request) {
    if (request->draw.items == 0) {
      request->layout = std::make_shared<const BatchLayout>();
      return absl::OkStatus();
    }
    if (request->layout->fields.back().spec.shape[0] == request->draw.items) {
      return absl::OkStatus();
    }
    WAGGLE_ASSIGN_OR_RETURN(BatchLayout layout,
                            MakeBatchLayout(config, request->draw.items, request->layout->total_bytes));
    request->layout = std::make_shared<const BatchLayout>(std::move(layout));
    return absl::OkStatus();
  }

  void Draw(const std::shared_ptr<Request>& request, Table* table, const std::shared_ptr<Requester>& requester)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto done = [self = shared_from_this(), request](absl::StatusOr<DrawnBatch> drawn) {
      self->Drawn(request, std::move(drawn));
    };
    const uint64_t number = table->Draw(request->layout, request->draw, done, requester);
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

  void Drawn(const std::shared_ptr<Request>& request, absl::StatusOr<DrawnBatch> drawn) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      request->answered = true;
    }
    if (!drawn.ok()) {
      // A closed table means that this server is about to end: the sampler is to come back, not to give up.
      Fail(absl::IsCancelled(drawn.status())
               ? Refusal(absl::StatusCode::kUnavailable, reasons::kStopping, "the replay server is stopping")
               : drawn.status());
      return;
    }
    if (options_.on_sampled != nullptr) {
      options_.on_sampled(static_cast<uint64_t>(request->draw.items));
    }
    // Whoever calls, a writer that has brought an item perhaps, is not to end for want of memory.
    OrFail([&] {
      budget_->Take(this, static_cast<int64_t>(request->layout->total_bytes),
                    [self = shared_from_this(), request, drawn = *std::move(drawn)](ByteBudget::Share share) {
                      self->MayGather(request, drawn, std::move(share));
                    });
    });
    if (ended()) {
      budget_->Withdraw(this);  // End has come meanwhile, perhaps before there was anything to withdraw.
    }
  }

  // Large batches are gathered on the executor: whoever called may be one of the transport's few threads, and has
  // perhaps only inserted the item that this batch waited for.
  void MayGather(const std::shared_ptr<Request>& request, const DrawnBatch& drawn, ByteBudget::Share share)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    OrFail([&] {
      if (static_cast<int64_t>(request->layout->total_bytes) <= options_.max_inline_bytes) {
        GatherOrRead(request, drawn, std::move(share));
      } else {
        Submit(&lane_, *request, [self = shared_from_this(), request, drawn, share = std::move(share)] {
          self->GatherOrRead(request, drawn, share);
        });
      }
    });
  }

  // Batches some of whose rows are on disk wait for them elsewhere, so that no others do.
  void GatherOrRead(const std::shared_ptr<Request>& request, DrawnBatch drawn, ByteBudget::Share share)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    if (ended()) {
      return;
    }
    if (!request->reads_disk || drawn.TryPin()) {
      Gather(request, drawn, std::move(share));
    } else {
      Submit(&disk_lane_, *request,
             [self = shared_from_this(), request, drawn = std::move(drawn), share = std::move(share)] {
               self->Gather(request, drawn, share);
             });
    }
  }

  void Submit(TaskQueue* lane, const Request& request, std::function<void()> task) {
    if (!lane->SubmitBytes(static_cast<int64_t>(request.layout->total_bytes),
                           [self = shared_from_this(), task = std::move(task)] { self->OrFail(task); })
             .ok()) {
      Fail(Refusal(absl::StatusCode::kUnavailable, reasons::kTooBusy, "the replay server is too busy"));
    }
  }

  // Memory that runs out is this stream's misfortune: in a thread that is not its own it would end the process.
  template <class Work>
  void OrFail(const Work& work) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (absl::Status status = Guarded(work); !status.ok()) {
      Fail(std::move(status));
    }
  }

  bool ended() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return ended_;
  }

  void Gather(const std::shared_ptr<Request>& request, const DrawnBatch& drawn, ByteBudget::Share share)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    std::shared_ptr<BatchCutter> cutter;
    {
      MutexLock lock(&mutex_);
      if (ended_) {
        return;
      }
      cutter = cutter_;
    }
    const bool compresses = cutter->codec() != Codec::kNone;
    ByteBudget::Share kept = compresses ? share : nullptr;
    absl::StatusOr<SlicedBatch> batch =
        GatherForSending(drawn, request->layout->total_bytes, compresses, memory_.get(), std::move(share));
    if (!batch.ok()) {
      Fail(batch.status());
      return;
    }
    std::vector<BatchPiece> pieces = cutter->Cut(batch->data);
    {
      MutexLock lock(&mutex_);
      request->facts = std::move(batch->facts);
      request->pieces = std::move(pieces);
      request->share = std::move(kept);
      if (ended_ || std::exchange(sending_, true)) {
        return;  // Whoever sends will find it: the pieces of two batches must not mix.
      }
    }
    SendReady();
  }

  // Batches go in the order in which they were asked for.
  void SendReady() ABSL_LOCKS_EXCLUDED(mutex_) {
    for (;;) {
      std::shared_ptr<Request> request;
      {
        MutexLock lock(&mutex_);
        if (requests_.empty() || requests_.front()->pieces.empty()) {
          sending_ = false;
          return;
        }
        request = std::move(requests_.front());
        requests_.pop_front();
      }
      Send(request);
    }
  }

  void Send(const std::shared_ptr<Request>& request) ABSL_LOCKS_EXCLUDED(mutex_) {
    const size_t last = request->pieces.size() - 1;
    for (size_t i = 0; i <= last; ++i) {
      Message<v1::SampleResponse> response =
          BatchMessage(request->facts, request->draw.items, i == 0, std::move(request->pieces[i]));
      if (i < last) {
        peer_->Send(std::move(response));
      } else {
        peer_->Send(std::move(response), [self = shared_from_this(), request] { self->Sent(); });
      }
    }
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
      if (!peer_done_ || !wanted_.empty() || in_flight_ > 0) {
        return;
      }
    }
    peer_->Close(absl::OkStatus());
  }

  Executor::Lane lane_;
  Executor::Lane disk_lane_;
  const std::shared_ptr<ByteBudget> budget_;
  const std::shared_ptr<BatchMemory> memory_;
  const SampleStreamOptions options_;
  std::shared_ptr<StreamPeer<Message<v1::SampleResponse>>> peer_;  // Set once, before anything else.
  mutable Mutex mutex_;
  std::shared_ptr<Table> table_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const BatchLayout> layout_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<BatchCutter> cutter_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<Requester> requester_ ABSL_GUARDED_BY(mutex_);
  Requester::Presence presence_ ABSL_GUARDED_BY(mutex_);
  int64_t batch_size_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t max_in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<DrawRequest> wanted_ ABSL_GUARDED_BY(mutex_);                 // That the table was not asked for.
  int64_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;                          // Batches asked for, and not yet sent.
  std::deque<std::shared_ptr<Request>> requests_ ABSL_GUARDED_BY(mutex_);  // Those, in their order, until they go.
  bool starting_ ABSL_GUARDED_BY(mutex_) = false;                          // Start is under way.
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;                           // SendReady is under way.
  bool peer_done_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;

  friend class SampleStream;
};

SampleStream::SampleStream(ReplayStore* store, Executor* executor, Executor* disk_executor,
                           std::shared_ptr<ByteBudget> budget, std::shared_ptr<BatchMemory> memory,
                           SampleStreamOptions options, std::string peer)
    : store_(store),
      peer_(std::move(peer)),
      state_(
          std::make_shared<State>(executor, disk_executor, std::move(budget), std::move(memory), std::move(options))) {}

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
    status = Refusal(absl::StatusCode::kInvalidArgument, reasons::kUnexpectedMessage, "a sampler sends no data");
  } else if (message.header.has_open() == opened) {
    status = Refusal(absl::StatusCode::kInvalidArgument, reasons::kUnexpectedMessage,
                     opened ? "the stream is open already" : "the first message has to be `open`");
  } else if (!opened) {
    status = Open(message.header.open());
  }
  if (status.ok()) {
    status = state_->Add(message.header);
  }
  if (!status.ok()) {
    state_->Fail(std::move(status));
    return;
  }
  state_->peer_->RequestNext();
}

absl::Status SampleStream::Open(const v1::SampleOpen& open) {
  if (!open.sampler_id().empty()) {
    WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadName, Annotate(ValidateName(open.sampler_id()), "sampler_id")));
  }
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> table, store_->FindTable(open.table()));
  if (open.batch_size() == 0) {
    return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadRequest,
                   "batch_size: a batch has at least 1 item; got 0");
  }
  if (open.batch_size() > state_->options_.max_batch_items) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kBatchTooLarge, "batch_size: a batch may have ",
                   state_->options_.max_batch_items, " items; ", open.batch_size(), " were asked for");
  }
  WAGGLE_ASSIGN_OR_RETURN(BatchLayout layout,
                          WithReason(reasons::kBatchTooLarge, MakeBatchLayout(table->created(), open.batch_size(),
                                                                              state_->options_.max_batch_bytes)));
  WAGGLE_ASSIGN_OR_RETURN(const Codec codec, WithReason(reasons::kBadRequest, FromProto(open.compression())));
  state_->Opened(std::move(table), std::make_shared<const BatchLayout>(std::move(layout)), open.batch_size(), codec,
                 open.sampler_id().empty() ? peer_ : open.sampler_id());
  return absl::OkStatus();
}

void SampleStream::OnPeerDone() {
  state_->PeerDone();
}

}  // namespace waggle
