#include "common/replay/shards/sharded_sampler.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/tensor/buffer_pool.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/wait_clock.h"
#include "common/config/table/shard_config.h"
#include "common/replay/ports/sampler_options.h"
#include "common/replay/shards/part_merge.h"
#include "common/replay/shards/shard_shares.h"
#include "common/replay/shards/sharded_draws.h"

namespace waggle {
namespace {

// Longer than any deadline.
constexpr absl::Duration kLongestSleep = absl::Minutes(1);

int64_t ItemsOf(const BatchLayout& layout) {
  return layout.fields.empty() ? 0 : layout.fields[0].spec.shape[0];
}

}  // namespace

class ShardedSampler::State final : public ShardSampleReceiver, public std::enable_shared_from_this<State> {
 public:
  State(ShardedDrawsOptions options, std::vector<std::shared_ptr<Shard>> shards,
        std::shared_ptr<const BatchLayout> layout, absl::Status possible)
      : possible_(std::move(possible)),
        shards_(std::move(shards)),
        layout_(std::move(layout)),
        // One batch is in use besides the begun and ready ones.
        pool_(layout_->total_bytes, static_cast<size_t>(options.prefetch) + 2),
        awaits_all_(options.awaits_all),
        draws_(std::move(options)),
        missing_(shards_.size()) {}

  // No request is sent before this call. The samplers must live until End.
  void SetSamplers(std::vector<ShardSampler*> samplers) ABSL_LOCKS_EXCLUDED(mutex_) {
    Outgoing outgoing;
    {
      MutexLock lock(&mutex_);
      samplers_ = std::move(samplers);
      outgoing = FollowUpLocked();
    }
    Send(std::move(outgoing));
  }

  absl::StatusOr<SampledBatch> Next(const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_) {
    WAGGLE_RETURN_IF_ERROR(possible_);
    std::optional<ShardedDraws::Complete> complete = TryTake();
    if (!complete.has_value()) {
      WAGGLE_ASSIGN_OR_RETURN(complete, AwaitComplete(stop));
    }
    SampledBatch batch;
    batch.layout = layout_;
    batch.bytes = TakeBytes(complete->number);
    FinishRows(*layout_, *complete, batch.bytes.get());
    batch.table_items = complete->table_items;
    batch.priority_sum = complete->priority_sum;
    batch.min_probability = complete->min_probability;
    batch.table_incarnation = complete->table_incarnation;
    batch.samples_allowed = complete->samples_allowed;
    batch.missing_shards = complete->missing_shards;
    batch.sampled_at = complete->sampled_at;
    return batch;
  }

  Stats stats() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    Stats stats;
    stats.batches = batches_;
    stats.waited = waiting_.total();
    stats.waiting = waiting_.waiting();
    stats.missing_shards = draws_.missing_shards();
    return stats;
  }

  // Calls Tick when it is due, until End.
  void Run() ABSL_LOCKS_EXCLUDED(mutex_) {
    for (bool ending = false; !ending;) {
      std::vector<Change> changes;
      Outgoing outgoing;
      {
        MutexLock lock(&mutex_);
        absl::Time now = SteadyNow();
        wakes_at_ = std::min(draws_.NextTick(), now + kLongestSleep);
        if (now < wakes_at_ && unlogged_.empty() && !ending_) {
          earlier_.WaitFor(&mutex_, wakes_at_ - now);
          now = SteadyNow();
        }
        if (now >= wakes_at_ && !ending_) {
          draws_.Tick(now);
          outgoing = FollowUpLocked();
        }
        changes.swap(unlogged_);
        ending = ending_;
      }
      Send(std::move(outgoing));
      for (const Change& change : changes) {
        Log(change);
      }
    }
  }

  // No sampler is called after it has returned.
  void End() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    ending_ = true;
    earlier_.SignalAll();
    while (sending_) {
      changed_.Wait(&mutex_);
    }
  }

  void Opened(size_t shard) override ABSL_LOCKS_EXCLUDED(mutex_) {
    Send(After([&](absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { draws_.Opened(shard, now); }));
  }

  void Heard(size_t shard) override ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    draws_.Heard(shard, SteadyNow());
  }

  absl::Status Answered(size_t shard, SampledBatch answer) override ABSL_LOCKS_EXCLUDED(mutex_) {
    const ShardFacts facts{static_cast<int64_t>(std::min(answer.table_items, static_cast<uint64_t>(kNoCap))),
                           answer.priority_sum,
                           answer.min_probability,
                           answer.samples_allowed,
                           answer.table_incarnation,
                           answer.sampled_at};
    const int64_t items = ItemsOf(*answer.layout);
    std::optional<ShardedDraws::Rows> rows;
    Outgoing outgoing;
    {
      MutexLock lock(&mutex_);
      const absl::Time now = SteadyNow();
      rows = draws_.Answered(shard, facts, now);
      if (!rows.has_value() || rows->count != items) {
        return absl::InternalError(absl::StrCat("the server sent a batch of ", items, " items; ",
                                                rows.has_value() ? rows->count : 0, " were requested"));
      }
      if (rows->batch != 0 && items == ItemsOf(*layout_)) {  // A whole batch needs no copy.
        bytes_[rows->batch] = std::move(answer.bytes);
        draws_.Stored(*std::exchange(rows, ShardedDraws::Rows()), now);
      }
      outgoing = FollowUpLocked();
    }
    Send(std::move(outgoing));
    if (rows->batch != 0 && rows->count > 0) {
      // Copied outside the lock, because parts come from several threads.
      PlacePart(*layout_, answer, rows->first, BytesOf(rows->batch).get());
      Send(After([&](absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { draws_.Stored(*rows, now); }));
    }
    return absl::OkStatus();
  }

  void Closed(size_t shard) override ABSL_LOCKS_EXCLUDED(mutex_) {
    Send(After([&](absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { draws_.Closed(shard, now); }));
  }

  void Failed(size_t /*shard*/, absl::Status failure) override ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    if (failure_.ok()) {
      failure_ = std::move(failure);
    }
    changed_.SignalAll();
  }

 private:
  // A line for the log.
  struct Change {
    size_t shard = 0;
    bool missing = false;
  };

  // Requests for each shard, in order.
  struct ToShard {
    ShardSampler* sampler = nullptr;
    std::vector<ShardAsk> asks;
  };
  using Outgoing = std::vector<ToShard>;

  std::optional<ShardedDraws::Complete> TryTake() ABSL_LOCKS_EXCLUDED(mutex_) {
    std::optional<ShardedDraws::Complete> complete;
    Outgoing outgoing;
    {
      MutexLock lock(&mutex_);
      draws_.Want(SteadyNow());
      complete = TakeLocked();
      outgoing = FollowUpLocked();
    }
    Send(std::move(outgoing));
    return complete;
  }

  std::optional<ShardedDraws::Complete> TakeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::optional<ShardedDraws::Complete> complete = draws_.Take(SteadyNow());
    batches_ += complete.has_value() ? 1 : 0;
    return complete;
  }

  absl::StatusOr<ShardedDraws::Complete> AwaitComplete(const StopToken& stop) ABSL_LOCKS_EXCLUDED(mutex_) {
    const StopToken::Callback wake(stop, [self = shared_from_this()] {
      MutexLock lock(&self->mutex_);
      self->changed_.SignalAll();
    });
    std::optional<ShardedDraws::Complete> complete;
    absl::Status failure;
    Outgoing outgoing;
    {
      MutexLock lock(&mutex_);
      waiting_.Begin();
      complete = TakeLocked();
      while (!complete.has_value() && failure_.ok() && !stop.StopRequested()) {
        changed_.Wait(&mutex_);
        complete = TakeLocked();
      }
      waiting_.End();
      failure = failure_;
      outgoing = FollowUpLocked();
    }
    Send(std::move(outgoing));
    if (complete.has_value()) {
      return *std::move(complete);
    }
    return failure.ok() ? absl::CancelledError("stopped while waiting for a batch from replay") : failure;
  }

  // Returns the batch's memory. Allocates it outside the lock at the first use.
  std::shared_ptr<char> BytesOf(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      const auto found = bytes_.find(number);
      if (found != bytes_.end()) {
        return found->second;
      }
    }
    std::shared_ptr<char> taken = pool_.Take();
    MutexLock lock(&mutex_);
    return bytes_.try_emplace(number, std::move(taken)).first->second;
  }

  std::shared_ptr<char> TakeBytes(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    std::shared_ptr<char> bytes = std::move(bytes_[number]);
    for (auto it = bytes_.begin(); it != bytes_.end();) {  // Restarted batches have new numbers.
      it = draws_.Has(it->first) ? std::next(it) : bytes_.erase(it);
    }
    return bytes;
  }

  // Takes the requests to send unless a thread sends some already, which takes these afterwards. So each shard gets its
  // requests in the order in which its answers are expected.
  Outgoing TakeOutgoingLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Outgoing outgoing;
    if (sending_ || samplers_.empty() || ending_) {
      return outgoing;
    }
    for (const ShardAsk& ask : draws_.TakeAsks()) {
      if (outgoing.empty() || outgoing.back().sampler != samplers_[ask.shard]) {
        outgoing.push_back({samplers_[ask.shard], {}});
      }
      outgoing.back().asks.push_back(ask);
    }
    sending_ = !outgoing.empty();
    return outgoing;
  }

  // Sends without the lock, because a receiving thread would wait for a write.
  void Send(Outgoing outgoing) ABSL_LOCKS_EXCLUDED(mutex_) {
    while (!outgoing.empty()) {
      for (const ToShard& shard : outgoing) {
        shard.sampler->Ask(shard.asks);
      }
      MutexLock lock(&mutex_);
      sending_ = false;
      outgoing = TakeOutgoingLocked();
      if (ending_) {
        changed_.SignalAll();
      }
    }
  }

  // Applies an event under the lock, and returns what the caller must Send.
  template <class Event>
  Outgoing After(const Event& event) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    event(SteadyNow());
    return FollowUpLocked();
  }

  // Wakes waiting threads, and returns what the caller must Send. Called after every event.
  Outgoing FollowUpLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (size_t i = 0; i < shards_.size(); ++i) {
      const bool missing = draws_.Missing(i);
      if (missing != missing_[i]) {
        missing_[i] = missing;
        unlogged_.push_back({i, missing});
      }
    }
    if (draws_.ready()) {
      changed_.SignalAll();
    }
    if (draws_.NextTick() < wakes_at_ || !unlogged_.empty()) {
      earlier_.SignalAll();
    }
    return TakeOutgoingLocked();
  }

  void Log(const Change& change) const {
    const std::string name = shards_[change.shard]->name();
    change.missing
        ? LogWarning("replay server ", change.shard, " at ", name, " does not answer: ",
                     awaits_all_ ? "batches wait until it does" : "batches are drawn without it until it does")
        : LogInfo("replay server ", change.shard, " at ", name, " answers: batches are drawn from it too");
  }

  const absl::Status possible_;  // The error of batches that can never be drawn.
  const std::vector<std::shared_ptr<Shard>> shards_;
  const std::shared_ptr<const BatchLayout> layout_;
  BufferPool pool_;
  const bool awaits_all_;
  mutable Mutex mutex_;
  CondVar changed_;
  CondVar earlier_;  // Wakes Run before wakes_at_.
  ShardedDraws draws_ ABSL_GUARDED_BY(mutex_);
  std::vector<ShardSampler*> samplers_ ABSL_GUARDED_BY(mutex_);
  bool sending_ ABSL_GUARDED_BY(mutex_) = false;                             // A thread is in Send.
  std::map<uint64_t, std::shared_ptr<char>> bytes_ ABSL_GUARDED_BY(mutex_);  // For begun batches.
  std::vector<bool> missing_ ABSL_GUARDED_BY(mutex_);     // The log's state once unlogged_ is written.
  std::vector<Change> unlogged_ ABSL_GUARDED_BY(mutex_);  // Run logs it without the lock.
  uint64_t batches_ ABSL_GUARDED_BY(mutex_) = 0;
  WaitClock waiting_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  absl::Time wakes_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
};

absl::StatusOr<std::unique_ptr<ReplaySampler>> ShardedSampler::Create(const std::vector<std::shared_ptr<Shard>>& shards,
                                                                      const ReplaySamplerOptions& options,
                                                                      absl::Duration patience) {
  WAGGLE_RETURN_IF_ERROR(ValidateSamplerOptions(options));
  WAGGLE_ASSIGN_OR_RETURN(BatchLayout layout, MakeBatchLayout(options.table, options.batch_size,
                                                              static_cast<size_t>(options.max_batch_bytes)));
  ShardedDrawsOptions draws;
  draws.table = options.table;
  draws.batch_size = options.batch_size;
  draws.prefetch = options.prefetch;
  draws.patience = patience;
  draws.awaits_all = options.awaits_all_shards;
  const auto count = static_cast<int64_t>(shards.size());
  std::vector<ReplaySamplerOptions> parts(shards.size(), options);
  for (int64_t i = 0; i < count; ++i) {
    WAGGLE_ASSIGN_OR_RETURN(parts[i].table, ShardConfig(options.table, i, count));
    draws.shards.push_back(parts[i].table);
  }
  // A single table itself refuses impossible batches.
  absl::Status possible = count > 1 ? CheckShardedBatch(options.table, count, options.batch_size) : absl::OkStatus();
  auto state = std::make_shared<State>(std::move(draws), shards, std::make_shared<const BatchLayout>(std::move(layout)),
                                       std::move(possible));
  std::vector<std::unique_ptr<ShardSampler>> samplers;
  for (size_t i = 0; i < shards.size(); ++i) {
    WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ShardSampler> sampler, shards[i]->NewSampler(parts[i], i, state));
    samplers.push_back(std::move(sampler));
  }
  return std::unique_ptr<ReplaySampler>(new ShardedSampler(std::move(state), std::move(samplers)));
}

ShardedSampler::ShardedSampler(std::shared_ptr<State> state, std::vector<std::unique_ptr<ShardSampler>> samplers)
    : state_(std::move(state)), samplers_(std::move(samplers)), thread_("shard-draws", [this] { state_->Run(); }) {
  std::vector<ShardSampler*> pointers;
  for (const std::unique_ptr<ShardSampler>& sampler : samplers_) {
    pointers.push_back(sampler.get());
  }
  state_->SetSamplers(std::move(pointers));
}

ShardedSampler::~ShardedSampler() {
  state_->End();
}

absl::StatusOr<SampledBatch> ShardedSampler::Next(const StopToken& stop) {
  return state_->Next(stop);
}

ReplaySampler::Stats ShardedSampler::stats() const {
  return state_->stats();
}

}  // namespace waggle
