#include "common/replay/shards/sharded_writer.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/deadline.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/threads/wait_clock.h"
#include "common/replay/ports/writer_options.h"

namespace waggle {
namespace {

// Checks for stuck shards in the time of `patience`.
constexpr int64_t kLooksAPatience = 12;

}  // namespace

struct ShardedWriter::Shared {
  Mutex mutex;
  CondVar changed;
  uint64_t changes ABSL_GUARDED_BY(mutex) = 0;
  uint64_t items_dropped ABSL_GUARDED_BY(mutex) = 0;
  WaitClock waiting ABSL_GUARDED_BY(mutex);

  void Changed() ABSL_LOCKS_EXCLUDED(mutex) {
    MutexLock lock(&mutex);
    ++changes;
    changed.SignalAll();
  }
};

absl::StatusOr<std::unique_ptr<ReplayWriter>> ShardedWriter::Create(const std::vector<std::shared_ptr<Shard>>& shards,
                                                                    const ReplayWriterOptions& options,
                                                                    absl::Duration patience) {
  WAGGLE_RETURN_IF_ERROR(ValidateWriterOptions(options));
  auto shared = std::make_shared<Shared>();
  std::unique_ptr<ShardedWriter> writer(new ShardedWriter(options, shards.size(), patience, shared));
  for (size_t i = 0; i < shards.size(); ++i) {
    WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ShardWriter> part,
                            shards[i]->NewWriter(options, [shared] { shared->Changed(); }));
    writer->writers_.push_back(std::move(part));
  }
  return std::unique_ptr<ReplayWriter>(std::move(writer));
}

ShardedWriter::ShardedWriter(const ReplayWriterOptions& options, size_t shards, absl::Duration patience,
                             std::shared_ptr<Shared> shared)
    : max_blocks_(options.max_unacknowledged_blocks),
      max_bytes_(options.max_unacknowledged_bytes),
      awaits_all_(options.awaits_all_shards),
      patience_(patience),
      began_(SteadyNow()),
      shared_(std::move(shared)),
      router_(options.signature, shards),
      states_(shards),
      health_(shards),
      lost_(shards) {}

absl::Status ShardedWriter::Append(InsertBlock block, const StopToken& stop) {
  const auto bytes = static_cast<int64_t>(block.data.size());
  WAGGLE_RETURN_IF_ERROR(Look());
  if (!HasRoom(bytes)) {
    WAGGLE_RETURN_IF_ERROR(AwaitRoom(bytes, stop));
  }
  std::vector<LaneRouter::Part> parts =
      router_.Split(std::move(block), lost_, [this](const std::vector<int64_t>& lanes) { return Choose(lanes); });
  {
    MutexLock lock(&shared_->mutex);
    shared_->items_dropped = router_.items_without_rows();
  }
  for (LaneRouter::Part& part : parts) {
    WAGGLE_RETURN_IF_ERROR(writers_[part.shard]->Offer(std::move(part.block)));
  }
  return absl::OkStatus();
}

absl::Status ShardedWriter::Look() {
  const absl::Time now = SteadyNow();
  absl::Status failure;
  for (size_t i = 0; i < writers_.size(); ++i) {
    ShardWriter::State& state = states_[i];
    Health& health = health_[i];
    state = writers_[i]->state();
    failure.Update(state.failure);
    health.was_connected = health.was_connected || state.connected || now - began_ > patience_;
    if (state.blocks == 0 || state.acknowledged != health.acknowledged) {
      health.acknowledged = state.acknowledged;
      health.moved = now;
      health.stuck = false;
    }
    lost_[i] = !awaits_all_ && (health.stuck || (health.was_connected && !state.connected));
  }
  if (std::all_of(lost_.begin(), lost_.end(), [](bool lost) { return lost; })) {
    lost_.assign(lost_.size(), false);  // No shard is left to move to.
  }
  return failure;
}

bool ShardedWriter::HasRoom(int64_t bytes) const {
  int64_t blocks = 0;
  int64_t max_blocks = 0;
  int64_t waiting_bytes = 0;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (!lost_[i]) {
      blocks += states_[i].blocks;
      waiting_bytes += states_[i].bytes;
      max_blocks += max_blocks_;
    }
  }
  return blocks == 0 || (blocks < max_blocks && waiting_bytes + bytes <= max_bytes_);
}

bool ShardedWriter::Full(size_t shard) const {
  const ShardWriter::State& state = states_[shard];
  return state.blocks >= max_blocks_ || state.bytes >= max_bytes_ / static_cast<int64_t>(states_.size());
}

absl::Status ShardedWriter::AwaitRoom(int64_t bytes, const StopToken& stop) {
  const StopToken::Callback wake(stop, [shared = shared_] { shared->Changed(); });
  {
    MutexLock lock(&shared_->mutex);
    shared_->waiting.Begin();
  }
  absl::Status status;
  for (;;) {
    uint64_t seen = 0;
    {
      MutexLock lock(&shared_->mutex);
      seen = shared_->changes;
    }
    status = Look();
    if (!status.ok() || HasRoom(bytes)) {
      break;
    }
    if (stop.StopRequested()) {
      status = absl::CancelledError("stopped while waiting for room in replay");
      break;
    }
    FindStuck(SteadyNow());
    MutexLock lock(&shared_->mutex);
    if (shared_->changes == seen) {
      shared_->changed.WaitFor(&shared_->mutex, patience_ / kLooksAPatience);
    }
  }
  MutexLock lock(&shared_->mutex);
  shared_->waiting.End();
  return status;
}

// Called while there is no room. Marks a shard that makes no progress as stuck if another one makes progress, or has
// room while this one is full. A shard without progress can hold up a large block without being full.
void ShardedWriter::FindStuck(absl::Time now) {
  const auto stands_still = [&](size_t i) { return states_[i].blocks > 0 && now - health_[i].moved > patience_; };
  bool one_goes_on = false;
  bool one_has_room = false;
  for (size_t i = 0; i < states_.size(); ++i) {
    one_goes_on = one_goes_on || (!lost_[i] && !stands_still(i));
    one_has_room = one_has_room || (!lost_[i] && !Full(i));
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    health_[i].stuck = health_[i].stuck || (stands_still(i) && (one_goes_on || (one_has_room && Full(i))));
  }
}

size_t ShardedWriter::Choose(const std::vector<int64_t>& lanes) {
  const auto rank = [&](size_t shard) {
    const size_t turns = (shard + states_.size() - next_) % states_.size();
    const bool full = !awaits_all_ && Full(shard);
    const int64_t blocks = awaits_all_ ? 0 : states_[shard].blocks;
    return std::make_tuple(static_cast<bool>(lost_[shard]), full, lanes[shard], blocks, turns);
  };
  size_t best = 0;
  for (size_t i = 1; i < states_.size(); ++i) {
    best = rank(i) < rank(best) ? i : best;
  }
  next_ = (best + 1) % states_.size();
  return best;
}

absl::Status ShardedWriter::Flush(absl::Duration timeout) {
  const Deadline deadline(timeout);
  for (;;) {
    uint64_t seen = 0;
    {
      MutexLock lock(&shared_->mutex);
      seen = shared_->changes;
    }
    WAGGLE_RETURN_IF_ERROR(Look());
    int64_t blocks = 0;
    for (const ShardWriter::State& state : states_) {
      blocks += state.blocks;
    }
    const absl::Duration left = deadline.Left();
    if (blocks == 0) {
      return absl::OkStatus();
    }
    if (left == absl::ZeroDuration()) {
      return absl::DeadlineExceededError(absl::StrCat(blocks, blocks == 1 ? " block is" : " blocks are",
                                                      " not acknowledged after ", absl::FormatDuration(timeout)));
    }
    MutexLock lock(&shared_->mutex);
    if (shared_->changes == seen) {
      shared_->changed.WaitFor(&shared_->mutex, left);
    }
  }
}

ReplayWriter::Stats ShardedWriter::stats() const {
  Stats stats;
  for (const std::unique_ptr<ShardWriter>& writer : writers_) {
    const ShardWriter::State state = writer->state();
    stats.items_inserted += state.items_inserted;
    stats.items_without_rows += state.items_without_rows;
  }
  MutexLock lock(&shared_->mutex);
  stats.items_without_rows += shared_->items_dropped;
  stats.waited = shared_->waiting.total();
  stats.waiting = shared_->waiting.waiting();
  return stats;
}

}  // namespace waggle
