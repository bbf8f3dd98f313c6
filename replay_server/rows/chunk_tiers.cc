#include "replay_server/rows/chunk_tiers.h"

#include <utility>

#include "absl/time/time.h"

namespace waggle {
namespace {

constexpr absl::Duration kRetryPause = absl::Milliseconds(200);
// The longest time before the records of removed blocks are deleted.
constexpr absl::Duration kTidyPause = absl::Seconds(1);

}  // namespace

ChunkTiers::ChunkTiers(std::shared_ptr<ColdRows> disk) : disk_(std::move(disk)) {
  thread_ = Thread("tiers", [this] { Run(); });
}

ChunkTiers::~ChunkTiers() {
  Stop();
}

std::shared_ptr<ChunkTier> ChunkTiers::New(const std::string& table, int64_t limit) {
  auto tier = std::make_shared<ChunkTier>(table, limit);
  Attach(tier);
  return tier;
}

void ChunkTiers::Attach(const std::shared_ptr<ChunkTier>& tier) {
  tier->Attach(disk_, signal_);
  {
    MutexLock lock(&mutex_);
    tiers_.push_back(tier);
  }
  signal_->Notify();
}

std::vector<std::shared_ptr<ChunkTier>> ChunkTiers::Tiers() {
  std::vector<std::shared_ptr<ChunkTier>> tiers;
  MutexLock lock(&mutex_);
  for (auto it = tiers_.begin(); it != tiers_.end();) {
    if (std::shared_ptr<ChunkTier> tier = it->lock(); tier != nullptr) {
      tiers.push_back(std::move(tier));
      ++it;
    } else {
      it = tiers_.erase(it);
    }
  }
  return tiers;
}

bool ChunkTiers::Await(absl::Duration pause, bool for_work) {
  MutexLock lock(&signal_->mutex);
  if (!signal_->stop && !(for_work && signal_->work)) {
    signal_->changed.WaitFor(&signal_->mutex, pause);
  }
  signal_->work = false;
  return !signal_->stop;
}

void ChunkTiers::Run() {
  bool failed = false;
  bool more = false;
  while (Await(more ? absl::ZeroDuration() : failed ? kRetryPause : kTidyPause, !failed)) {
    failed = false;
    more = false;
    for (const std::shared_ptr<ChunkTier>& tier : Tiers()) {
      const absl::StatusOr<bool> spilled = tier->Spill();
      failed = failed || !spilled.ok();
      more = more || spilled.value_or(false);
      tier->AnswerWaiting();
      tier->DeleteGone();
    }
    more = more && !failed;
  }
}

void ChunkTiers::Stop() {
  {
    MutexLock lock(&signal_->mutex);
    signal_->stop = true;
    signal_->changed.Signal();
  }
  thread_.Join();
  for (const std::shared_ptr<ChunkTier>& tier : Tiers()) {
    tier->Stop();
    tier->DeleteGone();
  }
}

}  // namespace waggle
