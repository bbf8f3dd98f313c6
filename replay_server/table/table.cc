#include "replay_server/table/table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/tensor/byte_slices.h"
#include "common/replay/blocks/block_compression.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/selectors/new_selector.h"

namespace waggle {
namespace {

// Far more than there are learners, but bounds the memory of requests.
constexpr size_t kMaxWaitingSamples = 65536;

// Each insert checks one batch of each size.
constexpr size_t kMaxWaitingSizes = 256;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

std::string In(const TableConfig& config) {
  return absl::StrCat("table \"", config.name, "\"");
}

absl::Status ClosedError(const TableConfig& config) {
  return absl::CancelledError(absl::StrCat(In(config), " is closed"));
}

void SayWhatIsAllowed(const RateLimiter& limiter, int64_t items, Table::Reconfigured* result) {
  result->samples_allowed = limiter.CanSample(items, /*batch_size=*/0) ? limiter.SamplesAllowed() : 0;
  result->inserts_allowed = limiter.InsertsAllowed(items);
  for (std::string why : {limiter.WhyNoInsert(items), limiter.WhyNoSample(items, /*batch_size=*/1)}) {
    if (!why.empty()) {
      result->waits.push_back(std::move(why));
    }
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<Table>> Table::Create(TableConfig config, uint64_t seed,
                                                     std::shared_ptr<MemoryAccount> memory, TableLog* log,
                                                     std::shared_ptr<ChunkTier> tier) {
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  log = config.durability == Durability::kNone ? nullptr : log;
  const uint64_t number = log == nullptr ? 0 : log->NewNumber();
  const TableConfig created = config;
  return std::shared_ptr<Table>(new Table(created, config, seed, std::move(memory), log, number, std::move(tier)));
}

Table::Table(TableConfig created, const TableConfig& config, uint64_t seed, std::shared_ptr<MemoryAccount> memory,
             TableLog* log, uint64_t number, std::shared_ptr<ChunkTier> tier)
    : created_(std::move(created)),
      max_rows_(created_.max_window + created_.MaxContextRows()),
      min_window_(created_.MinWindow()),
      rows_(created_.signature, ColumnCodecs(created_.signature, created_.compression)),
      log_(log),
      number_(number),
      tier_(std::move(tier)),
      config_(std::make_shared<const TableConfig>(config)),
      state_(config, seed, std::move(memory)) {
  if (log_ != nullptr) {
    MutexLock lock(&mutex_);
    state_.StartRecording(created_.durability == Durability::kCheckpoint);
  }
}

std::shared_ptr<const TableConfig> Table::config() const {
  MutexLock lock(&mutex_);
  return config_;
}

absl::StatusOr<Table::Reconfigured> Table::Reconfigure(const TableConfig& config, uint64_t generation, bool dry_run) {
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  Actions actions;
  RemovedRows removed;
  absl::StatusOr<Reconfigured> result;
  {
    MutexLock lock(&mutex_);
    result = ReconfigureLocked(config, generation, dry_run, &removed);
    RefuseSamplesLocked(&actions);
    ServeLocked(&actions, &removed);
  }
  removed.clear();
  RunAfterLock(std::move(actions));
  return result;
}

absl::StatusOr<Table::Reconfigured> Table::ReconfigureLocked(const TableConfig& config, uint64_t generation,
                                                             bool dry_run, RemovedRows* removed) {
  const std::vector<std::string> fixed = FixedDifferences(*config_, config);
  if (!fixed.empty()) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, reasons::kOtherConfiguration, In(created_),
        ": settings that cannot be changed while it is in use differ (there and wanted): ", absl::StrJoin(fixed, "; "));
  }
  if (generation != config_generation_) {
    return Refusal(absl::StatusCode::kAborted, reasons::kConfigGeneration, In(created_),
                   ": the configuration has changed meanwhile: the change is of generation ", generation, ", it is at ",
                   config_generation_);
  }
  Reconfigured result;
  result.differences = Differences(*config_, config);
  result.generation = config_generation_;
  result.items_removed = state_.ItemsOver(config);
  if (dry_run || result.differences.empty()) {
    RateLimiter limiter = state_.limiter();
    limiter.Reconfigure(config.rate_limiter, state_.items());
    SayWhatIsAllowed(limiter, state_.items() - result.items_removed, &result);
    return result;
  }
  const int64_t before = state_.items_removed();
  state_.Reconfigure(config, removed);
  SayWhatIsAllowed(state_.limiter(), state_.items(), &result);
  if (tier_ != nullptr) {
    tier_->SetLimit(config.memory_limit);
  }
  config_ = std::make_shared<const TableConfig>(config);
  config_changed_ = true;
  checked_layout_ = nullptr;
  result.generation = ++config_generation_;
  result.items_removed = state_.items_removed() - before;
  return result;
}

void Table::RefuseSamplesLocked(Actions* actions) {
  for (WaitingSample& sample : samples_.TakeAll()) {
    absl::Status refused = WithReason(reasons::kImpossibleBatch, CheckDraw(*config_, sample.draw));
    if (refused.ok()) {
      samples_.Push(std::move(sample));
    } else {
      actions->push_back([refused = Annotate(refused, In(created_)), done = std::move(sample.done)] { done(refused); });
    }
  }
}

void Table::Insert(std::vector<NewItem> items, TableLog::Answer done, const std::shared_ptr<TableClient>& client,
                   const BlockOrigin& origin) {
  Actions actions;
  RemovedRows removed;
  {
    MutexLock lock(&mutex_);
    if (closed_) {
      actions.push_back([self = shared_from_this(), done = std::move(done)] { done(ClosedError(self->created_)); });
    } else if (items.empty()) {
      if (log_ != nullptr) {
        marks_.NoteCome(origin, /*empty=*/true);
      }
      actions.push_back([self = shared_from_this(), done = std::move(done)] { self->AfterCommit(done); });
    } else {
      if (log_ != nullptr) {
        marks_.NoteCome(origin, /*empty=*/false);
      }
      WaitingInsert insert{std::move(items), 0, std::move(done), origin, client.get()};
      if (!inserts_.empty() || !InsertLocked(&insert, kAll, &actions, &removed)) {
        insert.keeps_client = client;
        insert.since = SteadyElapsed();
        inserts_.Push(std::move(insert));
      }
      ServeLocked(&actions, &removed);
    }
  }
  removed.clear();
  RunAfterLock(std::move(actions));
}

uint64_t Table::Sample(std::shared_ptr<const BatchLayout> layout, int64_t batch_size, SampleDone done) {
  const size_t bytes = layout->total_bytes;
  return Draw(std::move(layout), {batch_size, batch_size},
              [bytes, done = std::move(done)](absl::StatusOr<DrawnBatch> drawn) {
                if (!drawn.ok()) {
                  done(drawn.status());
                  return;
                }
                absl::StatusOr<SampledBatch> batch = drawn->Gather(AllocateBytes(bytes));
                drawn = absl::UnknownError("gathered");  // Releases the rows.
                done(std::move(batch));
              });
}

absl::Status Table::CheckRequest(const std::shared_ptr<const BatchLayout>& layout, const DrawRequest& draw) {
  std::shared_ptr<const TableConfig> config;
  {
    MutexLock lock(&mutex_);
    if (layout == checked_layout_ && draw.items == checked_batch_size_ && draw.counted <= draw.items) {
      return absl::OkStatus();
    }
    config = config_;
  }
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kImpossibleBatch, CheckDraw(*config, draw)));
  if (draw.items == 0) {
    return absl::OkStatus();
  }
  WAGGLE_RETURN_IF_ERROR(CheckLayout(*config, *layout, draw.items));
  std::shared_ptr<const BatchLayout> before;  // Destroyed outside the lock.
  MutexLock lock(&mutex_);
  if (config == config_) {
    before = std::exchange(checked_layout_, layout);
    checked_batch_size_ = draw.items;
  }
  return absl::OkStatus();
}

uint64_t Table::Draw(std::shared_ptr<const BatchLayout> layout, const DrawRequest& draw, DrawDone done,
                     const std::shared_ptr<TableClient>& client) {
  const bool only_looks = draw.items == 0 && draw.counted == 0;
  absl::Status refused = only_looks ? absl::OkStatus() : CheckRequest(layout, draw);
  if (!refused.ok()) {
    done(Annotate(refused, In(created_)));
    return 0;
  }
  Actions actions;
  RemovedRows removed;
  uint64_t request = 0;
  {
    MutexLock lock(&mutex_);
    if (closed_) {
      refused = ClosedError(created_);
    } else if (samples_.size() >= kMaxWaitingSamples ||
               (samples_.kinds() >= kMaxWaitingSizes && samples_.Newest(draw) == nullptr)) {
      refused = Refusal(absl::StatusCode::kResourceExhausted, reasons::kTooManyWaiting, In(created_), ": ",
                        samples_.size(), " requests for samples wait already, of ", samples_.kinds(), " sizes");
    } else {
      request = ++last_request_;
      samples_.Push({request, std::move(layout), draw, std::move(done), client.get()});
      ServeLocked(&actions, &removed);
      WaitingSample* const waits = samples_.Newest(draw);
      if (waits == nullptr || waits->request != request) {
        request = 0;
      } else {
        waits->keeps_client = client;
        waits->since = SteadyElapsed();
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
  DrawDone done;
  Actions actions;
  RemovedRows removed;
  {
    MutexLock lock(&mutex_);
    WaitingSample* const sample = samples_.Find(request);
    if (sample == nullptr) {
      return;
    }
    done = std::move(samples_.Take(sample).done);
    ServeLocked(&actions, &removed);  // It may have had items set aside.
  }
  removed.clear();
  actions.push_back([done = std::move(done)] { done(absl::CancelledError("the request for a sample was cancelled")); });
  RunAfterLock(std::move(actions));
}

absl::StatusOr<PriorityUpdateCounts> Table::UpdatePriorities(absl::Span<const uint64_t> keys,
                                                             absl::Span<const uint64_t> generations,
                                                             absl::Span<const double> priorities,
                                                             absl::string_view who) {
  if (keys.size() != generations.size() || keys.size() != priorities.size()) {
    return absl::InvalidArgumentError(absl::StrCat(In(created_), ": got ", keys.size(), " keys, ", generations.size(),
                                                   " generations and ", priorities.size(),
                                                   " priorities; they must be as many"));
  }
  const std::shared_ptr<const TableConfig> config = this->config();
  for (size_t i = 0; i < priorities.size(); ++i) {
    if (absl::Status status = ValidatePriority(*config, priorities[i]); !status.ok()) {
      return WithReason(reasons::kBadPriority, Annotate(status, absl::StrCat(In(created_), ", update ", i)));
    }
  }
  MutexLock lock(&mutex_);
  updated_ns_ = CoarseSteadyNanoseconds();
  if (updated_by_ != who) {
    updated_by_.assign(who.data(), who.size());
  }
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
  for (;;) {
    const std::shared_ptr<const TableConfig> config = this->config();
    TableState::Contents contents(*config);  // Made and freed outside the lock.
    int64_t cleared;
    {
      MutexLock lock(&mutex_);
      if (config != config_) {
        continue;  // Made for an old configuration.
      }
      cleared = state_.Clear(&contents);
      ServeLocked(&actions, &removed);
    }
    removed.clear();
    RunAfterLock(std::move(actions));
    return cleared;
  }
}

void Table::Close() {
  Actions actions;
  std::vector<WaitingInsert> inserts;
  std::vector<WaitingSample> samples;
  {
    MutexLock lock(&mutex_);
    closed_ = true;
    inserts = inserts_.TakeAll();
    samples = samples_.TakeAll();
  }
  for (WaitingInsert& insert : inserts) {
    actions.push_back(
        [self = shared_from_this(), done = std::move(insert.done)] { done(ClosedError(self->created_)); });
  }
  for (WaitingSample& sample : samples) {
    actions.push_back(
        [self = shared_from_this(), done = std::move(sample.done)] { done(ClosedError(self->created_)); });
  }
  RunAfterLock(std::move(actions));
}

void Table::Discard() {
  Close();
  {
    MutexLock lock(&mutex_);
    state_.StopRecording();
  }
  Clear();
}

}  // namespace waggle
