#include "replay_server/service/sample_batches.h"

#include <algorithm>
#include <utility>

#include "common/base/problems.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/replay/replay_convert.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/service/batch_messages.h"
#include "replay_server/service/lane_groups.h"

namespace waggle {

absl::Status SampleStreamOptions::Validate() const {
  Problems problems;
  problems.AddUnlessAtLeast("max_batch_bytes", max_batch_bytes, 1);
  problems.AddUnlessAtLeast("max_batch_items", max_batch_items, 1);
  problems.AddUnlessAtLeast("max_credits", max_credits, 1);
  problems.AddUnlessAtLeast("max_batches_in_flight", max_batches_in_flight, 1);
  problems.AddUnlessAtLeast("max_bytes_in_flight", max_bytes_in_flight, 1);
  problems.AddUnlessAtLeast("max_inline_bytes", max_inline_bytes, 0);
  return problems.ToStatus("", "; ");
}

SampleBatches::SampleBatches(SampleResources resources, SampleStreamOptions options)
    : resources_(std::move(resources)),
      lane_(resources_.executor, LaneOf(kSampleLanes)),
      disk_lane_(resources_.disk_executor, LaneOf(kSampleLanes)),
      options_(std::move(options)) {}

bool SampleBatches::opened() const {
  MutexLock lock(&mutex_);
  return table_ != nullptr;
}

void SampleBatches::Opened(std::shared_ptr<Table> table, std::shared_ptr<const BatchLayout> layout, int64_t batch_size,
                           Codec codec, const std::string& who) {
  Message<v1::SampleResponse> response;
  *response.header.mutable_opened() = ToProto(*layout);
  std::shared_ptr<TableClient> client = table->clients()->Add(TableClient::Kind::kSampler, who);
  TableClient::Connection connection({client});
  reader_ = resources_.readers->Add(table->name(), who, [weak = weak_from_this()](absl::Status status) {
    if (const std::shared_ptr<SampleBatches> self = weak.lock()) {
      self->Abort(std::move(status));
    }
  });
  {
    MutexLock lock(&mutex_);
    const int64_t bytes = std::max<int64_t>(1, static_cast<int64_t>(layout->total_bytes));
    max_in_flight_ = std::clamp<int64_t>(options_.max_bytes_in_flight / bytes, 1, options_.max_batches_in_flight);
    table_ = std::move(table);
    layout_ = std::move(layout);
    batch_size_ = batch_size;
    cutter_ = std::make_shared<BatchCutter>(codec, resources_.memory.get());
    client_ = std::move(client);
    connection_ = std::move(connection);
  }
  peer_->Send(std::move(response));
}

absl::Status SampleBatches::Add(const v1::SampleRequest& request) {
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadRequest, CheckListLength("draw_counted", request.draw_counted_size(),
                                                                          "draw_items", request.draw_items_size())));
  {
    MutexLock lock(&mutex_);
    client_->NoteSampleRequest(request.waits_for(), CoarseSteadyNanoseconds());
    const size_t more = size_t{request.credits()} + static_cast<size_t>(request.draw_items_size());
    if (more > options_.max_credits - wanted_.size()) {
      return Refusal(absl::StatusCode::kResourceExhausted, reasons::kTooManyCredits, "credits: got ", more, " with ",
                     wanted_.size(), " outstanding; wanted at most ", options_.max_credits, " together");
    }
    for (int i = 0; i < request.draw_items_size(); ++i) {
      if (request.draw_items(i) > batch_size_) {
        return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadDraw, "draw_items: got ", request.draw_items(i),
                       "; wanted at most the stream's batch size, ", batch_size_);
      }
      // One of several tables may count a whole batch and have none of its items.
      if (request.draw_counted(i) > batch_size_) {
        return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadDraw, "draw_counted: got ",
                       request.draw_counted(i), "; wanted at most the stream's batch size, ", batch_size_);
      }
      wanted_.push_back({request.draw_items(i), request.draw_counted(i)});
    }
    wanted_.insert(wanted_.end(), request.credits(), {batch_size_, batch_size_});
  }
  Start();
  return absl::OkStatus();
}

void SampleBatches::PeerDone() {
  {
    MutexLock lock(&mutex_);
    peer_done_ = true;
  }
  MaybeClose();
}

void SampleBatches::Fail(absl::Status status) {
  peer_->Close(
      std::move(status));  // First, because End cancels waiting batches, which would close it with another status.
  End();
}

void SampleBatches::Abort(absl::Status status) {
  peer_->Abort(std::move(status));
  End();
}

void SampleBatches::End() {
  std::deque<std::shared_ptr<Request>> dropped;  // Destroyed outside the lock.
  std::vector<uint64_t> waiting;
  std::shared_ptr<Table> table;
  TableClient::Connection connection;
  {
    MutexLock lock(&mutex_);
    ended_ = true;
    connection = std::move(connection_);
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
  resources_.budget->Withdraw(this);
}

void SampleBatches::Start() {
  {
    MutexLock lock(&mutex_);
    if (std::exchange(starting_, true)) {
      return;
    }
  }
  for (;;) {
    const auto request = std::make_shared<Request>();
    std::shared_ptr<Table> table;
    std::shared_ptr<TableClient> client;
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
      client = client_;
      ++in_flight_;
      requests_.push_back(request);
    }
    if (absl::Status status = FitLayout(table->created(), request.get()); !status.ok()) {
      Fail(std::move(status));
      return;  // The stream has ended, so starting_ stays true.
    }
    Draw(request, table.get(), client);
  }
}

absl::Status SampleBatches::FitLayout(const TableConfig& config, Request* request) {
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

void SampleBatches::Draw(const std::shared_ptr<Request>& request, Table* table,
                         const std::shared_ptr<TableClient>& client) {
  const auto done = [self = shared_from_this(), request](absl::StatusOr<DrawnBatch> drawn) {
    self->Drawn(request, std::move(drawn));
  };
  const uint64_t number = table->Draw(request->layout, request->draw, done, client);
  bool cancel = false;
  {
    MutexLock lock(&mutex_);
    request->number = number;
    cancel = ended_ && !request->answered && number != 0;  // End was called meanwhile, without the number.
  }
  if (cancel) {
    table->CancelSample(number);
  }
}

void SampleBatches::Drawn(const std::shared_ptr<Request>& request, absl::StatusOr<DrawnBatch> drawn) {
  {
    MutexLock lock(&mutex_);
    request->answered = true;
  }
  if (!drawn.ok()) {
    // A closed table means that this server is about to end: the sampler must come back, not give up.
    Fail(absl::IsCancelled(drawn.status())
             ? Refusal(absl::StatusCode::kUnavailable, reasons::kStopping, "the replay server is stopping")
             : drawn.status());
    return;
  }
  if (options_.on_sampled != nullptr) {
    options_.on_sampled(static_cast<uint64_t>(request->draw.items));
  }
  request->drawn = *std::move(drawn);
  reader_->Wants();
  resources_.budget->Await(this, request->bytes(), [self = shared_from_this(), request](MemoryAccount::Share share) {
    self->reader_->Gets(request->bytes());
    request->share = std::move(share);
    self->MayGather(request);
  });
  if (ended()) {
    resources_.budget->Withdraw(this);  // End was called meanwhile, perhaps before the Await.
  }
}

void SampleBatches::MayGather(const std::shared_ptr<Request>& request) {
  if (request->bytes() <= options_.max_inline_bytes) {
    GatherOrRead(request);
  } else {
    Submit(&lane_, *request, [self = shared_from_this(), request] { self->GatherOrRead(request); });
  }
}

void SampleBatches::GatherOrRead(const std::shared_ptr<Request>& request) {
  if (ended()) {
    return;
  }
  if (!request->reads_disk || request->drawn->TryPin()) {
    Gather(request);
  } else {
    Submit(&disk_lane_, *request, [self = shared_from_this(), request] { self->Gather(request); });
  }
}

void SampleBatches::Submit(TaskQueue* lane, const Request& request, std::function<void()> task) {
  if (!lane->SubmitBytes(request.bytes(), std::move(task)).ok()) {
    Fail(Refusal(absl::StatusCode::kUnavailable, reasons::kTooBusy, "the replay server is too busy"));
  }
}

bool SampleBatches::ended() const {
  MutexLock lock(&mutex_);
  return ended_;
}

void SampleBatches::Gather(const std::shared_ptr<Request>& request) {
  const DrawnBatch drawn = *std::exchange(request->drawn, std::nullopt);
  MemoryAccount::Share share = std::move(request->share);
  std::shared_ptr<BatchCutter> cutter;
  {
    MutexLock lock(&mutex_);
    if (ended_) {
      return;
    }
    cutter = cutter_;
  }
  const bool compresses = cutter->codec() != Codec::kNone;
  MemoryAccount::Share kept = compresses ? share : nullptr;
  absl::StatusOr<SlicedBatch> batch =
      GatherForSending(drawn, request->layout->total_bytes, compresses, resources_.memory.get(), std::move(share));
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
      return;  // The sending thread sends it too: the pieces of two batches must not mix.
    }
  }
  SendReady();
}

void SampleBatches::SendReady() {
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

void SampleBatches::Send(const std::shared_ptr<Request>& request) {
  const size_t last = request->pieces.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    Message<v1::SampleResponse> response =
        BatchMessage(request->facts, request->draw.items, i == 0, std::move(request->pieces[i]));
    reader_->Handed();
    if (i < last) {
      peer_->Send(std::move(response), [reader = reader_] { reader->Took(); });
    } else {
      peer_->Send(std::move(response), [self = shared_from_this(), request] { self->Sent(*request); });
    }
  }
}

void SampleBatches::Sent(const Request& request) {
  reader_->Took();
  reader_->GivesBack(request.bytes());
  {
    MutexLock lock(&mutex_);
    --in_flight_;
  }
  Start();
  MaybeClose();
}

void SampleBatches::MaybeClose() {
  {
    MutexLock lock(&mutex_);
    if (!peer_done_ || !wanted_.empty() || in_flight_ > 0) {
      return;
    }
  }
  peer_->Close(absl::OkStatus());
}

}  // namespace waggle
