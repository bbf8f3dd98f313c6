#include "tests/support/local/local_priority_updater.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/deadline.h"
#include "common/base/status_macros.h"
#include "common/base/threads/mutex.h"

namespace waggle {
namespace {

void Add(const PriorityUpdateCounts& more, PriorityUpdateCounts* counts) {
  counts->applied += more.applied;
  counts->stale += more.stale;
  counts->unknown += more.unknown;
}

}  // namespace

struct LocalPriorityUpdater::State {
  explicit State(std::shared_ptr<const Table> of) : table(std::move(of)) {}

  const std::shared_ptr<const Table> table;
  Mutex mutex;
  CondVar changed;
  PriorityUpdateCounts counts ABSL_GUARDED_BY(mutex);
  // Updates that await the disk, and later ones.
  std::optional<PriorityUpdateCounts> under_way ABSL_GUARDED_BY(mutex);
  std::optional<PriorityUpdateCounts> next ABSL_GUARDED_BY(mutex);
  absl::Status error ABSL_GUARDED_BY(mutex);  // The first error.
};

LocalPriorityUpdater::LocalPriorityUpdater(std::shared_ptr<Table> table)
    : table_(std::move(table)), state_(std::make_shared<State>(table_)) {}

absl::Status LocalPriorityUpdater::Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                                          std::vector<double> priorities) {
  {
    MutexLock lock(&state_->mutex);
    WAGGLE_RETURN_IF_ERROR(state_->error);
  }
  WAGGLE_ASSIGN_OR_RETURN(const PriorityUpdateCounts counts, table_->UpdatePriorities(keys, generations, priorities));
  {
    MutexLock lock(&state_->mutex);
    if (state_->under_way.has_value()) {
      state_->next = state_->next.value_or(PriorityUpdateCounts());
      Add(counts, &*state_->next);
      return absl::OkStatus();
    }
    state_->under_way = counts;
  }
  AwaitCommit(state_);
  return absl::OkStatus();
}

absl::Status LocalPriorityUpdater::Flush(absl::Duration timeout) {
  const Deadline deadline(timeout);
  MutexLock lock(&state_->mutex);
  while (state_->error.ok() && state_->under_way.has_value()) {
    const absl::Duration left = deadline.Left();
    if (left == absl::ZeroDuration()) {
      return absl::DeadlineExceededError(
          absl::StrCat("priority updates are not on disk after ", absl::FormatDuration(timeout)));
    }
    state_->changed.WaitFor(&state_->mutex, left);
  }
  return state_->error;
}

PriorityUpdateCounts LocalPriorityUpdater::counts() const {
  MutexLock lock(&state_->mutex);
  return state_->counts;
}

void LocalPriorityUpdater::AwaitCommit(const std::shared_ptr<State>& state) {
  state->table->AfterCommit([state](const absl::Status& status) {
    {
      MutexLock lock(&state->mutex);
      if (status.ok()) {
        Add(*state->under_way, &state->counts);
      } else if (state->error.ok()) {
        state->error = status;
      }
      state->under_way = std::exchange(state->next, std::nullopt);
      state->changed.SignalAll();
      if (!status.ok() || !state->under_way.has_value()) {
        return;
      }
    }
    AwaitCommit(state);
  });
}

}  // namespace waggle
