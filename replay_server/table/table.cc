#include "replay_server/table/table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "replay_server/table/gather.h"

namespace waggle {
namespace {

// Far more than there are learners; a bound so that no peer can fill the memory with requests.
constexpr size_t kMaxWaitingSamples = 65536;

std::string In(const TableConfig& config) {
  return absl::StrCat("table \"", config.name, "\"");
}

absl::Status ClosedError(const TableConfig& config) {
  return absl::CancelledError(absl::StrCat(In(config), " is closed"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<Table>> Table::Create(TableConfig config, uint64_t seed) {
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  return std::shared_ptr<Table>(new Table(std::move(config), seed));
}

Table::Table(TableConfig config, uint64_t seed)
    : config_(std::move(config)), rows_(config_.signature), state_(config_, seed) {}

void Table::Insert(std::vector<NewItem> items, std::function<void(absl::Status)> done) {
  Actions actions;
  RemovedRows removed;
  {
    MutexLock lock(&mutex_);
    if (closed_) {
      actions.push_back([self = shared_from_this(), done = std::move(done)] { done(ClosedError(self->config_)); });
    } else if (items.empty()) {
      actions.push_back([done = std::move(done)] { done(absl::OkStatus()); });
    } else {
      inserts_.push_back({std::move(items), 0, std::move(done)});
      ServeLocked(&actions, &removed);
    }
  }
  removed.clear();
  RunAfterLock(std::move(actions));
}

uint64_t Table::Sample(std::shared_ptr<const BatchLayout> layout, int64_t batch_size, SampleDone done) {
  absl::Status refused = TableState::CheckBatchSize(config_, batch_size);
  if (refused.ok()) {
    refused = CheckLayout(config_, *layout, batch_size);
  }
  if (!refused.ok()) {
    done(Annotate(refused, In(config_)));
    return 0;
  }
  Actions actions;
  RemovedRows removed;
  uint64_t request = 0;
  {
    MutexLock lock(&mutex_);
    if (closed_) {
      refused = ClosedError(config_);
    } else if (samples_.size() >= kMaxWaitingSamples) {
      refused = absl::ResourceExhaustedError(
          absl::StrCat(In(config_), ": ", samples_.size(), " requests for samples wait already"));
    } else {
      request = ++last_request_;
      samples_.push_back({request, std::move(layout), batch_size, std::move(done)});
      ServeLocked(&actions, &removed);
      if (samples_.empty() || samples_.back().request != request) {
        request = 0;
      }
    }
  }
  if (!refused.ok()) {
    done(refused);
    return 0;
  }
  removed.clear();
  RunAfterLock(std::move(actions));
  return request;
}

void Table::CancelSample(uint64_t request) {
  SampleDone done;
  Actions actions;
  RemovedRows removed;
  {
    MutexLock lock(&mutex_);
    const auto it = std::find_if(samples_.begin(), samples_.end(),
                                 [request](const WaitingSample& sample) { return sample.request == request; });
    if (it == samples_.end()) {
      return;
    }
    done = std::move(it->done);
    samples_.erase(it);
    ServeLocked(&actions, &removed);  // A smaller batch may have waited behind it.
  }
  removed.clear();
  actions.push_back([done = std::move(done)] { done(absl::CancelledError("the request for a sample was cancelled")); });
  RunAfterLock(std::move(actions));
}

absl::StatusOr<PriorityUpdateCounts> Table::UpdatePriorities(absl::Span<const uint64_t> keys,
                                                             absl::Span<const uint64_t> generations,
                                                             absl::Span<const double> priorities) {
  if (keys.size() != generations.size() || keys.size() != priorities.size()) {
    return absl::InvalidArgumentError(absl::StrCat(In(config_), ": got ", keys.size(), " keys, ", generations.size(),
                                                   " generations and ", priorities.size(),
                                                   " priorities; they must be as many"));
  }
  for (size_t i = 0; i < priorities.size(); ++i) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidatePriority(priorities[i]), absl::StrCat(In(config_), ", update ", i)));
  }
  MutexLock lock(&mutex_);
  return state_.UpdatePriorities(keys, generations, priorities);
}

PriorityUpdateCounts Table::Delete(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations) {
  Actions actions;
  RemovedRows removed;
  PriorityUpdateCounts counts;
  {
    MutexLock lock(&mutex_);
    counts = state_.Delete(keys, generations, &removed);
    ServeLocked(&actions, &removed);
  }
  removed.clear();
  RunAfterLock(std::move(actions));
  return counts;
}

int64_t Table::Clear() {
  Actions actions;
  RemovedRows removed;
  int64_t cleared;
  {
    MutexLock lock(&mutex_);
    cleared = state_.Clear(&removed);
    ServeLocked(&actions, &removed);
  }
  removed.clear();
  RunAfterLock(std::move(actions));
  return cleared;
}

// Both sides go on as far as they can, in turn: neither can keep the other from what the limiter grants it.
void Table::ServeLocked(Actions* actions, RemovedRows* removed) {
  bool progress = true;
  while (progress) {
    progress = ServeInsertsLocked(actions, removed);
    progress = ServeSamplesLocked(actions, removed) || progress;
  }
}

bool Table::ServeInsertsLocked(Actions* actions, RemovedRows* removed) {
  const int64_t waiting_batch = samples_.empty() ? 0 : samples_.front().batch_size;
  bool progress = false;
  while (!inserts_.empty()) {
    WaitingInsert& insert = inserts_.front();
    for (; insert.next < insert.items.size() && state_.CanInsert(waiting_batch); ++insert.next) {
      state_.Insert(std::move(insert.items[insert.next]), removed);
      progress = true;
    }
    if (insert.next < insert.items.size()) {
      break;
    }
    actions->push_back([done = std::move(insert.done)] { done(absl::OkStatus()); });
    inserts_.pop_front();
  }
  return progress;
}

bool Table::ServeSamplesLocked(Actions* actions, RemovedRows* removed) {
  bool progress = false;
  while (!samples_.empty() && state_.CanSample(samples_.front().batch_size)) {
    WaitingSample& sample = samples_.front();
    auto sampled = std::make_shared<Sampled>(state_.Sample(sample.batch_size, removed));
    actions->push_back([self = shared_from_this(), layout = std::move(sample.layout), sampled = std::move(sampled),
                        done = std::move(sample.done)]() mutable {
      SampledBatch batch = Gather(self->config_, self->rows_, std::move(layout), *sampled);
      sampled.reset();
      done(std::move(batch));
    });
    samples_.pop_front();
    progress = true;
  }
  return progress;
}

Table::Info Table::info() const {
  MutexLock lock(&mutex_);
  Info info;
  info.items = state_.items();
  info.bytes = state_.bytes();
  info.items_inserted = state_.items_inserted();
  info.items_sampled = state_.items_sampled();
  info.items_removed = state_.items_removed();
  info.priority_updates = state_.priority_updates();
  info.inserts_waiting = static_cast<int64_t>(inserts_.size());
  info.samples_waiting = static_cast<int64_t>(samples_.size());
  info.priority_sum = state_.PrioritySum();
  if (!inserts_.empty()) {
    info.blocked_because = state_.WhyNoInsert();
  }
  if (!samples_.empty()) {
    absl::StrAppend(&info.blocked_because, info.blocked_because.empty() ? "" : "; ",
                    state_.WhyNoSample(samples_.front().batch_size));
  }
  return info;
}

void Table::Close() {
  Actions actions;
  std::deque<WaitingInsert> inserts;
  std::deque<WaitingSample> samples;
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    inserts.swap(inserts_);
    samples.swap(samples_);
  }
  for (WaitingInsert& insert : inserts) {
    actions.push_back([self = shared_from_this(), done = std::move(insert.done)] { done(ClosedError(self->config_)); });
  }
  for (WaitingSample& sample : samples) {
    actions.push_back([self = shared_from_this(), done = std::move(sample.done)] { done(ClosedError(self->config_)); });
  }
  RunAfterLock(std::move(actions));
}

}  // namespace waggle
