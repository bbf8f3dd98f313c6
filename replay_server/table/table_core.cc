#include "replay_server/table/table_core.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "replay_server/base/refusal_reasons.h"

namespace waggle {
namespace {

void SayWhatIsAllowed(const RateLimiter& limiter, int64_t items, TableCore::Reconfigured* result) {
  result->samples_allowed = limiter.CanSample(items, /*batch_size=*/0) ? limiter.SamplesAllowed() : 0;
  result->inserts_allowed = limiter.InsertsAllowed(items);
  for (std::string why : {limiter.WhyNoInsert(items), limiter.WhyNoSample(items, /*batch_size=*/1)}) {
    if (!why.empty()) {
      result->waits.push_back(std::move(why));
    }
  }
}

}  // namespace

TableCore::TableCore(const TableBase* table, const TableConfig& config, uint64_t seed,
                     std::shared_ptr<MemoryAccount> memory)
    : table_(table),
      config_(std::make_shared<const TableConfig>(config)),
      state_(config, seed, std::move(memory)),
      requests_(table, &state_, &marks_) {
  if (table_->log() != nullptr) {
    state_.StartRecording(table_->created().durability == Durability::kCheckpoint);
  }
}

absl::StatusOr<TableCore::Reconfigured> TableCore::Reconfigure(const TableConfig& config, uint64_t generation,
                                                               bool dry_run, RemovedRows* removed) {
  const std::vector<std::string> fixed = FixedDifferences(*config_, config);
  if (!fixed.empty()) {
    return Refusal(
        absl::StatusCode::kFailedPrecondition, reasons::kOtherConfiguration, table_->title(),
        ": settings that cannot be changed while it is in use differ (there and wanted): ", absl::StrJoin(fixed, "; "));
  }
  if (generation != config_generation_) {
    return Refusal(absl::StatusCode::kAborted, reasons::kConfigGeneration, table_->title(),
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
  if (table_->tier() != nullptr) {
    table_->tier()->SetLimit(config.memory_limit);
  }
  config_ = std::make_shared<const TableConfig>(config);
  config_changed_ = true;
  result.generation = ++config_generation_;
  result.items_removed = state_.items_removed() - before;
  return result;
}

PriorityUpdateCounts TableCore::UpdatePriorities(absl::Span<const uint64_t> keys,
                                                 absl::Span<const uint64_t> generations,
                                                 absl::Span<const double> priorities, absl::string_view who) {
  updated_ns_ = CoarseSteadyNanoseconds();
  if (updated_by_ != who) {
    updated_by_.assign(who.data(), who.size());
  }
  return state_.UpdatePriorities(keys, generations, priorities);
}

absl::Status TableCore::Restore(SavedTable saved) {
  config_generation_ = saved.config_generation;
  config_changed_ = false;
  WAGGLE_RETURN_IF_ERROR(state_.Restore(saved.counters, std::move(saved.items)));
  marks_.Restore(saved.marks);
  return absl::OkStatus();
}

void TableCore::TakeChanges(size_t most, TableChanges* changes) {
  state_.TakeChanges(most, changes);
  marks_.TakeChanges(table_->number(), &changes->marks);
  if (std::exchange(config_changed_, false)) {
    changes->config = config_;
  }
  changes->config_generation = config_generation_;
}

TableInfo TableCore::info() const {
  TableInfo info;
  info.config = config_;
  info.config_generation = config_generation_;
  info.items = state_.items();
  info.bytes = state_.bytes();
  info.items_inserted = state_.items_inserted();
  info.items_sampled = state_.items_sampled();
  info.items_removed = state_.items_removed();
  info.priority_updates = state_.priority_updates();
  info.inserts_waiting = static_cast<int64_t>(requests_.inserts().size());
  info.samples_waiting = static_cast<int64_t>(requests_.samples().size());
  info.priority_sum = state_.PrioritySum();
  info.blocked_because = requests_.WhyBlocked();
  if (table_->log() != nullptr) {
    if (const absl::Status status = table_->log()->status(); !status.ok()) {
      absl::StrAppend(&info.blocked_because, info.blocked_because.empty() ? "" : "; ", status.message());
    }
  }
  if (table_->tier() != nullptr) {
    info.tier = table_->tier()->info();
    if (!info.tier.status.ok()) {
      absl::StrAppend(&info.blocked_because, info.blocked_because.empty() ? "" : "; ", WhyTierWaits(info.tier));
    }
  }
  return info;
}

TablePicture TableCore::picture(absl::Duration now) const {
  constexpr size_t kMaxListed = 64;  // Bounds the time of the lock.
  const auto wait = [now](const TableClient* client, absl::Duration since, const DrawRequest& asked) {
    return TablePicture::Wait{client != nullptr ? client->name() : "", client == nullptr || client->present(), asked,
                              now - since};
  };
  TablePicture picture;
  picture.config = config_;
  picture.config_generation = config_generation_;
  picture.counts = state_.counts();
  picture.bytes = state_.bytes();
  picture.inserts = state_.items_inserted();
  picture.samples = state_.items_sampled();
  picture.ratio_carried = state_.limiter().carried();
  picture.byte_shortage = state_.byte_shortage();
  picture.inserts_waiting = static_cast<int64_t>(requests_.inserts().size());
  picture.samples_waiting = static_cast<int64_t>(requests_.samples().size());
  for (const WaitingInsert* insert : requests_.inserts().First(kMaxListed)) {
    const auto left = static_cast<int64_t>(insert->items.size() - insert->next);
    picture.first_inserts.push_back(wait(insert->client, insert->since, {left, 0}));
  }
  for (const WaitingSample* sample : requests_.samples().First(kMaxListed)) {
    picture.first_samples.push_back(wait(sample->client, sample->since, sample->draw));
  }
  if (updated_ns_ != 0) {
    picture.last_update = {now - absl::Nanoseconds(updated_ns_), updated_by_};
  }
  if (table_->tier() != nullptr) {
    picture.tier = table_->tier()->info();
  }
  if (const MemoryAccount* memory = state_.memory(); memory != nullptr) {
    picture.server_bytes = memory->used();
    picture.server_max_bytes = memory->limit();
  }
  return picture;
}

}  // namespace waggle
