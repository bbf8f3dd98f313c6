#include "common/replay/shards/sharded_connection.h"

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/deadline.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/thread.h"
#include "common/config/table/shard_config.h"
#include "common/replay/shards/sharded_priority_updater.h"
#include "common/replay/shards/sharded_sampler.h"
#include "common/replay/shards/sharded_writer.h"

namespace waggle {
namespace {

// Collects the results of the threads that create the shards' tables.
class Creations {
 public:
  Creations(size_t count, absl::Duration patience) : patience_(patience), left_(count) {}

  void Done(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    --left_;
    if (status.ok()) {
      one_is_there_ = true;
    } else if (!absl::IsCancelled(status)) {
      error_.Update(status);
    }
    changed_.SignalAll();
  }

  // Waits until all shards have the table, one has an error, or `patience` has passed since the first one had it. Then
  // stops `waits`.
  void Await(const StopToken& waits) ABSL_LOCKS_EXCLUDED(mutex_) {
    AwaitEnough();
    waits.RequestStop();
  }

  absl::Status error() const ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return error_;
  }

 private:
  void AwaitEnough() ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    while (left_ > 0 && error_.ok() && !one_is_there_) {
      changed_.Wait(&mutex_);
    }
    const Deadline deadline(patience_);
    while (left_ > 0 && error_.ok() && deadline.Left() > absl::ZeroDuration()) {
      changed_.WaitFor(&mutex_, deadline.Left());
    }
  }

  const absl::Duration patience_;
  mutable Mutex mutex_;
  CondVar changed_;
  size_t left_ ABSL_GUARDED_BY(mutex_);
  bool one_is_there_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status ShardedReplayConnection::CreateTable(const TableConfig& config, const StopToken& stop) {
  const auto count = static_cast<int64_t>(shards_.size());
  std::vector<TableConfig> parts;
  for (int64_t i = 0; i < count; ++i) {
    WAGGLE_ASSIGN_OR_RETURN(TableConfig part, ShardConfig(config, i, count));
    parts.push_back(std::move(part));
  }
  const StopToken waits;
  const StopToken::Callback pass_on(stop, [waits] { waits.RequestStop(); });
  Creations creations(shards_.size(), patience_);
  std::vector<absl::Status> created(shards_.size());
  {
    std::vector<Thread> threads;
    for (size_t i = 0; i < shards_.size(); ++i) {
      threads.emplace_back("create-table", [&, i] {
        created[i] = shards_[i]->CreateTable(parts[i], waits);
        creations.Done(created[i]);
      });
    }
    creations.Await(waits);
  }
  if (stop.StopRequested()) {
    return absl::CancelledError(absl::StrCat("stopped while creating table ", config.name));
  }
  WAGGLE_RETURN_IF_ERROR(creations.error());
  if (config.sampler.absolute_priorities) {
    MutexLock lock(&mutex_);
    take_magnitudes_.insert(config.name);
  }
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (!created[i].ok()) {
      LogWarning("replay server ", i, " at ", shards_[i]->name(), " does not answer yet: it gets table ", config.name,
                 " once it does");
      shards_[i]->WantTable(parts[i]);
    }
  }
  return absl::OkStatus();
}

absl::Status ShardedReplayConnection::Checkpoint(const ReplayCut& cut, const StopToken& stop) {
  std::vector<absl::Status> saved(shards_.size());
  {
    std::vector<Thread> threads;
    for (size_t i = 0; i < shards_.size(); ++i) {
      threads.emplace_back("checkpoint", [&, i] { saved[i] = shards_[i]->Checkpoint(cut, stop); });
    }
  }
  for (size_t i = 0; i < shards_.size(); ++i) {
    WAGGLE_RETURN_IF_ERROR(Annotate(saved[i], absl::StrCat("replay server ", i, " at ", shards_[i]->name())));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ReplayWriter>> ShardedReplayConnection::NewWriter(const ReplayWriterOptions& options) {
  return ShardedWriter::Create(shards_, options, patience_);
}

absl::StatusOr<std::unique_ptr<ReplaySampler>> ShardedReplayConnection::NewSampler(
    const ReplaySamplerOptions& options) {
  return ShardedSampler::Create(shards_, options, patience_);
}

absl::StatusOr<std::unique_ptr<PriorityUpdater>> ShardedReplayConnection::NewPriorityUpdater(const std::string& table) {
  std::vector<std::unique_ptr<PriorityUpdater>> parts;
  for (const std::shared_ptr<Shard>& shard : shards_) {
    WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<PriorityUpdater> part, shard->NewPriorityUpdater(table));
    parts.push_back(std::move(part));
  }
  MutexLock lock(&mutex_);
  return std::unique_ptr<PriorityUpdater>(
      std::make_unique<ShardedPriorityUpdater>(std::move(parts), take_magnitudes_.count(table) > 0));
}

}  // namespace waggle
