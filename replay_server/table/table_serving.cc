#include <algorithm>
#include <memory>
#include <utility>

#include "common/base/steady_now.h"
#include "replay_server/table/table.h"

// Serves waiting requests as far as the rate limiter allows.

namespace waggle {

// Serves both sides in turn, so that neither starves the other.
void Table::ServeLocked(Actions* actions, RemovedRows* removed) {
  bool progress = true;
  while (progress) {
    progress = ServeInsertsLocked(actions, removed);
    progress = ServeSamplesLocked(actions, removed) || progress;
  }
}

bool Table::InsertLocked(WaitingInsert* insert, int64_t most, Actions* actions, RemovedRows* removed) {
  const int64_t waiting_batch = samples_.LargestUpTo(state_.LargestPossibleBatch());
  const size_t first = insert->next;
  const size_t end = first + static_cast<size_t>(std::min<int64_t>(most, insert->items.size() - first));
  for (; insert->next < end && state_.CanInsert(waiting_batch); ++insert->next) {
    state_.Insert(std::move(insert->items[insert->next]), removed);
  }
  const bool all = insert->next == insert->items.size();
  if (insert->next > first) {
    const int64_t now_ns = CoarseSteadyNanoseconds();
    if (log_ != nullptr) {
      marks_.NoteIn(insert->origin, insert->next, all);
    }
    if (insert->client != nullptr) {
      insert->client->Count(static_cast<int64_t>(insert->next - first), now_ns);
    }
    insert_times_.Note(state_.next_generation() - (insert->next - first), now_ns);
  }
  if (all) {
    actions->push_back([self = shared_from_this(), done = std::move(insert->done)] { self->AfterCommit(done); });
  }
  return all;
}

bool Table::ServeInsertsLocked(Actions* actions, RemovedRows* removed) {
  bool progress = false;
  while (!inserts_.empty()) {
    WaitingInsert& insert = inserts_.front();
    const size_t first = insert.next;
    const int64_t turn = inserts_.turn_left();
    const bool all = InsertLocked(&insert, turn, actions, removed);
    const auto items = static_cast<int64_t>(insert.next - first);
    progress = progress || items > 0;
    inserts_.GoneIn(items);
    if (!all && items < turn) {
      break;
    }
  }
  return progress;
}

WaitingSample* Table::NextSampleLocked() {
  WaitingSample* const oldest = samples_.oldest();
  if (oldest == nullptr || state_.CanSample(oldest->draw)) {
    return oldest;
  }
  if (oldest->request != set_aside_for_) {
    set_aside_for_ = oldest->request;
    set_aside_since_ = state_.items_inserted();
  }
  const SetAside set_aside = state_.SetAsideSince(set_aside_since_, oldest->draw);
  const TableState* const state = &state_;  // Lambdas do not inherit the lock's annotation.
  return samples_.OldestThat([&](const DrawRequest& draw) { return state->CanSample(draw, set_aside); });
}

bool Table::ServeSamplesLocked(Actions* actions, RemovedRows* removed) {
  bool progress = false;
  while (WaitingSample* const next = NextSampleLocked()) {
    WaitingSample& sample = *next;
    auto sampled = std::make_shared<Sampled>(state_.Sample(sample.draw, removed));
    if (sample.client != nullptr && sample.draw.items > 0) {
      sample.client->Count(sample.draw.items, CoarseSteadyNanoseconds());
    }
    DrawnBatch drawn(shared_from_this(), created_, rows_, sample.layout, std::move(sampled));
    if (logged() && (config_->max_times_sampled > 0 || config_->rate_limiter.samples_per_insert > 0)) {
      // Otherwise a crash would undo samples that count towards these limits, after the batch was sent.
      actions->push_back(
          [self = shared_from_this(), drawn = std::move(drawn), done = std::move(sample.done)]() mutable {
            self->log_->AfterCommit([drawn = std::move(drawn), done = std::move(done)](const absl::Status& status) {
              done(status.ok() ? absl::StatusOr<DrawnBatch>(drawn) : absl::StatusOr<DrawnBatch>(status));
            });
          });
    } else {
      actions->push_back(
          [drawn = std::move(drawn), done = std::move(sample.done)]() mutable { done(std::move(drawn)); });
    }
    samples_.Take(next);
    progress = true;
  }
  return progress;
}

}  // namespace waggle
