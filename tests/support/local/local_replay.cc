#include "tests/support/local/local_replay.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/deadline.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/buffer_pool.h"
#include "common/base/threads/wait_clock.h"
#include "common/replay/blocks/block_compression.h"
#include "common/replay/ports/sampler_options.h"
#include "common/replay/ports/writer_options.h"
#include "tests/support/local/local_priority_updater.h"

namespace waggle {
namespace {

absl::Status StoppedError() {
  return absl::CancelledError("stopped");
}

// True once a stop is requested. Set under the waiter's mutex, so that the waiter cannot miss it.
class StopFlag {
 public:
  template <class State>
  StopFlag(const StopToken& stop, const std::shared_ptr<State>& state)
      : flag_(std::make_shared<bool>(false)), on_stop_(stop, [flag = flag_, state] {
          MutexLock lock(&state->mutex);
          *flag = true;
          state->changed.SignalAll();
        }) {}

  // The caller must hold the mutex.
  bool requested() const { return *flag_; }

 private:
  const std::shared_ptr<bool> flag_;
  const StopToken::Callback on_stop_;
};

// A wait that lasts from construction to destruction.
class WaitTimer {
 public:
  explicit WaitTimer(WaitClock* clock) : clock_(clock) { clock->Begin(); }
  ~WaitTimer() { clock_->End(); }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

 private:
  WaitClock* const clock_;
};

// Shared by a writer and the callbacks of its blocks, which may outlive it.
struct WriterState {
  Mutex mutex;
  CondVar changed;
  int64_t blocks ABSL_GUARDED_BY(mutex) = 0;  // Unacknowledged.
  int64_t bytes ABSL_GUARDED_BY(mutex) = 0;
  absl::Status error ABSL_GUARDED_BY(mutex);         // The first error.
  ReplayWriter::Stats stats ABSL_GUARDED_BY(mutex);  // Without the waits.
  WaitClock waiting ABSL_GUARDED_BY(mutex);
};

class LocalWriter final : public ReplayWriter {
 public:
  LocalWriter(std::shared_ptr<WriterSession> session, const ReplayWriterOptions& options)
      : session_(std::move(session)),
        max_blocks_(options.max_unacknowledged_blocks),
        max_bytes_(options.max_unacknowledged_bytes),
        codecs_(ColumnCodecs(options.signature, options.compression)),
        connection_(session_->Connect()),
        sequence_(session_->applied_sequence()) {}

  absl::Status Append(InsertBlock block, const StopToken& stop) override {
    WAGGLE_RETURN_IF_ERROR(CompressBlock(session_->signature(), codecs_, &block));
    const auto bytes = static_cast<int64_t>(block.data.size());
    WAGGLE_RETURN_IF_ERROR(WaitForRoom(bytes, stop));
    session_->Insert(++sequence_, std::move(block),
                     [state = state_, bytes](const absl::StatusOr<WriterSession::Result>& result) {
                       MutexLock lock(&state->mutex);
                       --state->blocks;
                       state->bytes -= bytes;
                       if (result.ok()) {
                         state->stats.items_inserted += result->items_inserted;
                         state->stats.items_without_rows += result->items_without_rows;
                       } else if (state->error.ok()) {
                         state->error = result.status();
                       }
                       state->changed.SignalAll();
                     });
    MutexLock lock(&state_->mutex);
    return state_->error;
  }

  absl::Status Flush(absl::Duration timeout) override {
    const Deadline deadline(timeout);
    MutexLock lock(&state_->mutex);
    while (state_->error.ok() && state_->blocks > 0) {
      const absl::Duration left = deadline.Left();
      if (left == absl::ZeroDuration()) {
        return absl::DeadlineExceededError(absl::StrCat(state_->blocks, " blocks are not acknowledged after ",
                                                        absl::FormatDuration(timeout), "; their tables have no room"));
      }
      state_->changed.WaitFor(&state_->mutex, left);
    }
    return state_->error;
  }

  Stats stats() const override {
    MutexLock lock(&state_->mutex);
    Stats stats = state_->stats;
    stats.waited = state_->waiting.total();
    stats.waiting = state_->waiting.waiting();
    return stats;
  }

 private:
  absl::Status WaitForRoom(int64_t bytes, const StopToken& stop) {
    const StopFlag stopped(stop, state_);
    MutexLock lock(&state_->mutex);
    const WaitTimer timer(&state_->waiting);
    while (state_->error.ok() && !stopped.requested() && !HasRoomLocked(bytes)) {
      state_->changed.Wait(&state_->mutex);
    }
    if (!state_->error.ok()) {
      return state_->error;
    }
    if (!HasRoomLocked(bytes)) {
      return StoppedError();
    }
    ++state_->blocks;
    state_->bytes += bytes;
    return absl::OkStatus();
  }

  // One block is allowed whatever its size.
  bool HasRoomLocked(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    return state_->blocks == 0 || (state_->blocks < max_blocks_ && state_->bytes + bytes <= max_bytes_);
  }

  const std::shared_ptr<WriterSession> session_;
  const int64_t max_blocks_;
  const int64_t max_bytes_;
  const std::vector<Codec> codecs_;
  const TableClient::Connection connection_;
  const std::shared_ptr<WriterState> state_ = std::make_shared<WriterState>();
  uint64_t sequence_;
};

// The table's answers. The sampler's own thread gathers the batches, not the thread that inserted the awaited item.
using Answer = absl::StatusOr<DrawnBatch>;

// Batches that a learner uses at a time.
constexpr size_t kKeptBlocks = 2;

struct SamplerState {
  Mutex mutex;
  CondVar changed;
  std::deque<Answer> answers ABSL_GUARDED_BY(mutex);
  uint64_t batches ABSL_GUARDED_BY(mutex) = 0;  // Taken.
  WaitClock waiting ABSL_GUARDED_BY(mutex);
};

class LocalSampler final : public ReplaySampler {
 public:
  LocalSampler(std::shared_ptr<Table> table, std::shared_ptr<const BatchLayout> layout,
               const ReplaySamplerOptions& options)
      : table_(std::move(table)),
        layout_(std::move(layout)),
        batch_size_(options.batch_size),
        prefetch_(std::max<int64_t>(1, options.prefetch)),  // Requests are made only in Next.
        client_(table_->clients()->Add(TableClient::Kind::kSampler, options.sampler_id)),
        connection_({client_}),
        pool_(layout_->total_bytes, kKeptBlocks) {}

  ~LocalSampler() override {
    for (const uint64_t request : requests_) {
      table_->CancelSample(request);
    }
  }

  absl::StatusOr<SampledBatch> Next(const StopToken& stop) override {
    WAGGLE_RETURN_IF_ERROR(error_);
    const StopFlag stopped(stop, state_);
    AskAhead();
    Answer answer = absl::UnknownError("nothing yet");
    {
      MutexLock lock(&state_->mutex);
      const WaitTimer timer(&state_->waiting);
      while (state_->answers.empty() && !stopped.requested()) {
        state_->changed.Wait(&state_->mutex);
      }
      if (state_->answers.empty()) {
        return StoppedError();
      }
      answer = std::move(state_->answers.front());
      state_->answers.pop_front();
      state_->batches += answer.ok() ? 1 : 0;
    }
    --outstanding_;
    error_ = answer.status();
    WAGGLE_RETURN_IF_ERROR(error_);
    return answer->Gather(pool_.Take());
  }

  Stats stats() const override {
    MutexLock lock(&state_->mutex);
    return {state_->batches, state_->waiting.total(), state_->waiting.waiting()};
  }

 private:
  // Keeps `prefetch_` requests that wait in the table or are answered and not taken.
  void AskAhead() {
    while (outstanding_ < prefetch_) {
      ++outstanding_;
      const auto answered = [state = state_](Answer answer) {
        MutexLock lock(&state->mutex);
        state->answers.push_back(std::move(answer));
        state->changed.SignalAll();
      };
      const uint64_t request = table_->Draw(layout_, {batch_size_, batch_size_}, answered, client_);
      if (request != 0) {
        requests_.push_back(request);
        while (static_cast<int64_t>(requests_.size()) > prefetch_) {
          requests_.pop_front();  // Was answered: the table answers in order.
        }
      }
    }
  }

  const std::shared_ptr<Table> table_;
  const std::shared_ptr<const BatchLayout> layout_;
  const int64_t batch_size_;
  const int64_t prefetch_;
  const std::shared_ptr<TableClient> client_;
  const TableClient::Connection connection_;
  BufferPool pool_;
  const std::shared_ptr<SamplerState> state_ = std::make_shared<SamplerState>();
  int64_t outstanding_ = 0;
  std::deque<uint64_t> requests_;
  absl::Status error_;
};

// Waits until earlier changes are as safe as the table promises.
absl::Status AwaitCommit(const Table& table, const StopToken& stop) {
  struct State {
    Mutex mutex;
    CondVar changed;
    std::optional<absl::Status> answer ABSL_GUARDED_BY(mutex);
  };
  const auto state = std::make_shared<State>();
  table.AfterCommit([state](const absl::Status& status) {
    MutexLock lock(&state->mutex);
    state->answer = status;
    state->changed.SignalAll();
  });
  const StopFlag stopped(stop, state);
  MutexLock lock(&state->mutex);
  while (!state->answer.has_value() && !stopped.requested()) {
    state->changed.Wait(&state->mutex);
  }
  return state->answer.value_or(StoppedError());
}

}  // namespace

absl::Status LocalReplayConnection::CreateTable(const TableConfig& config, const StopToken& stop) {
  if (stop.StopRequested()) {
    return StoppedError();
  }
  WAGGLE_RETURN_IF_ERROR(store_->CreateTable(config).status());
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<Table> table, store_->FindTable(config.name));
  return AwaitCommit(*table, stop);
}

absl::StatusOr<std::unique_ptr<ReplayWriter>> LocalReplayConnection::NewWriter(const ReplayWriterOptions& options) {
  WAGGLE_RETURN_IF_ERROR(ValidateWriterOptions(options));
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<WriterSession> session,
                          store_->OpenWriter(options.writer_id, options.tables, options.signature));
  std::random_device random;
  const uint64_t incarnation = (static_cast<uint64_t>(random()) << 32) | random();
  WAGGLE_RETURN_IF_ERROR(Annotate(session->Claim(incarnation), absl::StrCat("writer \"", options.writer_id, "\"")));
  return std::make_unique<LocalWriter>(std::move(session), options);
}

absl::StatusOr<std::unique_ptr<ReplaySampler>> LocalReplayConnection::NewSampler(const ReplaySamplerOptions& options) {
  WAGGLE_RETURN_IF_ERROR(ValidateSamplerOptions(options));
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> table, store_->FindTable(options.table.name));
  const std::vector<std::string> differences = FixedDifferences(*table->config(), options.table);
  if (!differences.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("table \"", options.table.name,
                     "\" differs from what the sampler wants (there and wanted): ", absl::StrJoin(differences, "; ")));
  }
  WAGGLE_ASSIGN_OR_RETURN(BatchLayout layout, MakeBatchLayout(options.table, options.batch_size,
                                                              static_cast<size_t>(options.max_batch_bytes)));
  return std::make_unique<LocalSampler>(std::move(table), std::make_shared<const BatchLayout>(std::move(layout)),
                                        options);
}

absl::StatusOr<std::unique_ptr<PriorityUpdater>> LocalReplayConnection::NewPriorityUpdater(const std::string& table) {
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> found, store_->FindTable(table));
  return std::make_unique<LocalPriorityUpdater>(std::move(found));
}

}  // namespace waggle
