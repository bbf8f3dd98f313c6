#include "replay_server/table/table_requests.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/steady_now.h"
#include "replay_server/base/refusal_reasons.h"

namespace waggle {
namespace {

// Far more than there are learners, but bounds the memory of requests.
constexpr size_t kMaxWaitingSamples = 65536;

// Each insert checks one batch of each size.
constexpr size_t kMaxWaitingSizes = 256;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

}  // namespace

void TableRequests::Insert(std::vector<NewItem>&& items, TableLog::Answer&& done,
                           const std::shared_ptr<TableClient>& client, const BlockOrigin& origin, AfterLock* after) {
  if (closed_) {
    after->actions.push_back(
        [table = table_->shared_from_this(), done = std::move(done)] { done(table->ClosedError()); });
    return;
  }
  if (table_->log() != nullptr) {
    marks_->NoteCome(origin, items.empty());
  }
  if (items.empty()) {
    after->actions.push_back(
        [table = table_->shared_from_this(), done = std::move(done)] { table->AfterCommit(done); });
    return;
  }
  WaitingInsert insert{std::move(items), 0, std::move(done), origin, client.get()};
  if (!inserts_.empty() || !InsertSome(&insert, kAll, after)) {
    insert.keeps_client = client;
    insert.since = SteadyElapsed();
    inserts_.Push(std::move(insert));
  }
  Serve(after);
}

absl::Status TableRequests::CheckRoom(const DrawRequest& draw) {
  if (closed_) {
    return table_->ClosedError();
  }
  if (samples_.size() >= kMaxWaitingSamples ||
      (samples_.kinds() >= kMaxWaitingSizes && samples_.Newest(draw) == nullptr)) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kTooManyWaiting, table_->title(), ": ",
                   samples_.size(), " requests for samples wait already, of ", samples_.kinds(), " sizes");
  }
  return absl::OkStatus();
}

uint64_t TableRequests::Draw(std::shared_ptr<const BatchLayout>&& layout, const DrawRequest& draw, DrawDone&& done,
                             const std::shared_ptr<TableClient>& client, AfterLock* after) {
  const uint64_t request = ++last_request_;
  samples_.Push({request, std::move(layout), draw, std::move(done), client.get()});
  Serve(after);
  WaitingSample* const waits = samples_.Newest(draw);
  if (waits == nullptr || waits->request != request) {
    return 0;
  }
  waits->keeps_client = client;
  waits->since = SteadyElapsed();
  return request;
}

void TableRequests::CancelSample(uint64_t request, AfterLock* after) {
  WaitingSample* const sample = samples_.Find(request);
  if (sample == nullptr) {
    return;
  }
  DrawDone done = std::move(samples_.Take(sample).done);
  Serve(after);  // It may have had items set aside.
  after->actions.push_back(
      [done = std::move(done)] { done(absl::CancelledError("the request for a sample was cancelled")); });
}

void TableRequests::RefuseImpossible(AfterLock* after) {
  for (WaitingSample& sample : samples_.TakeAll()) {
    absl::Status refused = WithReason(reasons::kImpossibleBatch, CheckDraw(state_->config(), sample.draw));
    if (refused.ok()) {
      samples_.Push(std::move(sample));
    } else {
      after->actions.push_back(
          [refused = Annotate(refused, table_->title()), done = std::move(sample.done)] { done(refused); });
    }
  }
}

void TableRequests::Close(std::vector<WaitingInsert>* inserts, std::vector<WaitingSample>* samples) {
  closed_ = true;
  *inserts = inserts_.TakeAll();
  *samples = samples_.TakeAll();
}

// Serves both sides in turn, so that neither starves the other.
void TableRequests::Serve(AfterLock* after) {
  bool progress = true;
  while (progress) {
    progress = ServeInserts(after);
    progress = ServeSamples(after) || progress;
  }
}

bool TableRequests::InsertSome(WaitingInsert* insert, int64_t most, AfterLock* after) {
  const int64_t waiting_batch = samples_.LargestUpTo(state_->LargestPossibleBatch());
  const size_t first = insert->next;
  const size_t end = first + static_cast<size_t>(std::min<int64_t>(most, insert->items.size() - first));
  for (; insert->next < end && state_->CanInsert(waiting_batch); ++insert->next) {
    state_->Insert(std::move(insert->items[insert->next]), &after->removed);
  }
  const bool all = insert->next == insert->items.size();
  if (insert->next > first) {
    const int64_t now_ns = CoarseSteadyNanoseconds();
    if (table_->log() != nullptr) {
      marks_->NoteIn(insert->origin, insert->next, all);
    }
    if (insert->client != nullptr) {
      insert->client->Count(static_cast<int64_t>(insert->next - first), now_ns);
    }
    insert_times_.Note(state_->next_generation() - (insert->next - first), now_ns);
  }
  if (all) {
    after->actions.push_back(
        [table = table_->shared_from_this(), done = std::move(insert->done)] { table->AfterCommit(done); });
  }
  return all;
}

bool TableRequests::ServeInserts(AfterLock* after) {
  bool progress = false;
  while (!inserts_.empty()) {
    WaitingInsert& insert = inserts_.front();
    const size_t first = insert.next;
    const int64_t turn = inserts_.turn_left();
    const bool all = InsertSome(&insert, turn, after);
    const auto items = static_cast<int64_t>(insert.next - first);
    progress = progress || items > 0;
    inserts_.GoneIn(items);
    if (!all && items < turn) {
      break;
    }
  }
  return progress;
}

WaitingSample* TableRequests::NextSample() {
  WaitingSample* const oldest = samples_.oldest();
  if (oldest == nullptr || state_->CanSample(oldest->draw)) {
    return oldest;
  }
  if (oldest->request != set_aside_for_) {
    set_aside_for_ = oldest->request;
    set_aside_since_ = state_->items_inserted();
  }
  const SetAside set_aside = state_->SetAsideSince(set_aside_since_, oldest->draw);
  return samples_.OldestThat([&](const DrawRequest& draw) { return state_->CanSample(draw, set_aside); });
}

bool TableRequests::ServeSamples(AfterLock* after) {
  const TableConfig& config = state_->config();
  bool progress = false;
  while (WaitingSample* const sample = NextSample()) {
    auto sampled = std::make_shared<Sampled>(state_->Sample(sample->draw, &after->removed));
    if (sample->client != nullptr && sample->draw.items > 0) {
      sample->client->Count(sample->draw.items, CoarseSteadyNanoseconds());
    }
    DrawnBatch drawn(table_->shared_from_this(), table_->created(), table_->rows(), sample->layout, std::move(sampled));
    if (table_->logged() && (config.max_times_sampled > 0 || config.rate_limiter.samples_per_insert > 0)) {
      // Otherwise a crash would undo samples that count towards these limits, after the batch was sent.
      after->actions.push_back(
          [table = table_->shared_from_this(), drawn = std::move(drawn), done = std::move(sample->done)]() mutable {
            table->log()->AfterCommit([drawn = std::move(drawn), done = std::move(done)](const absl::Status& status) {
              done(status.ok() ? absl::StatusOr<DrawnBatch>(drawn) : absl::StatusOr<DrawnBatch>(status));
            });
          });
    } else {
      after->actions.push_back(
          [drawn = std::move(drawn), done = std::move(sample->done)]() mutable { done(std::move(drawn)); });
    }
    samples_.Take(sample);
    progress = true;
  }
  return progress;
}

// Explains each size of batch: different sizes wait for different things.
std::string TableRequests::WhyBlocked() const {
  constexpr size_t kMaxTold = 4;
  std::string text = inserts_.empty() ? "" : state_->WhyNoInsert();
  const std::vector<const WaitingSample*> waiting = samples_.FirstOfEach(kMaxTold);
  const size_t untold = samples_.kinds() - waiting.size();
  for (const WaitingSample* sample : waiting) {
    std::string why = state_->WhyNoSample(sample->draw);
    if (why.empty()) {
      why = absl::StrCat("half of what inserts bring is set aside for a batch of ", waiting.front()->draw.items);
    }
    absl::StrAppend(&text, text.empty() ? "" : "; ");
    if (waiting.size() > 1) {
      absl::StrAppend(
          &text, "a batch of ", sample->draw.items,
          sample->draw.counted == sample->draw.items ? "" : absl::StrCat(", counted as ", sample->draw.counted), ": ");
    }
    absl::StrAppend(&text, why);
  }
  if (untold > 0) {
    absl::StrAppend(&text, "; batches of ", untold, " other sizes wait too");
  }
  return text;
}

}  // namespace waggle
