#include "replay_server/table/table.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/tensor/byte_slices.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/selectors/new_selector.h"
#include "replay_server/table/after_lock.h"

namespace waggle {
namespace {

absl::Status CheckConfigs(const TableConfig& created, const TableConfig& config) {
  WAGGLE_RETURN_IF_ERROR(created.Validate());
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  if (const std::vector<std::string> fixed = FixedDifferences(created, config); !fixed.empty()) {
    return absl::DataLossError(absl::StrCat("settings that cannot be changed have changed (at first and since): ",
                                            absl::StrJoin(fixed, "; ")));
  }
  return created.durability == Durability::kNone ? absl::DataLossError("durability: got none; wanted checkpoint or log")
                                                 : absl::OkStatus();
}

absl::Status Damaged(const std::string& table, const absl::Status& status) {
  return status.ok()
             ? status
             : absl::DataLossError(absl::StrCat("table \"", table, "\": its saved state is wrong: ", status.message()));
}

void AddClients(const std::vector<std::shared_ptr<const TableClient>>& clients, absl::Duration now,
                TablePicture* picture) {
  for (const std::shared_ptr<const TableClient>& client : clients) {
    TablePicture::Party party;
    party.kind = client->kind();
    party.name = client->name();
    party.present = client->present();
    party.items = client->items();
    party.active_ago = now - client->last_counted();
    party.left_ago = now - client->left();
    if (const int64_t items = client->requested_items(); items > 0 && party.present) {
      picture->first_samples.push_back({party.name, true, {items, items}, now - client->requested_since(), true});
      ++picture->samples_waiting;
    }
    picture->parties.push_back(std::move(party));
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

absl::Status Table::CheckSaved(const SavedTable& saved) {
  WAGGLE_RETURN_IF_ERROR(Damaged(saved.created.name, CheckConfigs(saved.created, saved.config)));
  return Damaged(saved.created.name, CheckSavedItems(saved.config, saved.counters, saved.items));
}

absl::StatusOr<std::shared_ptr<Table>> Table::Restore(SavedTable saved, std::shared_ptr<MemoryAccount> memory,
                                                      TableLog* log) {
  WAGGLE_RETURN_IF_ERROR(Damaged(saved.created.name, CheckConfigs(saved.created, saved.config)));
  std::shared_ptr<Table> table(
      new Table(saved.created, saved.config, saved.config.seed, std::move(memory), log, saved.number, saved.tier));
  MutexLock lock(&table->mutex_);
  WAGGLE_RETURN_IF_ERROR(Damaged(table->name(), table->core_.Restore(std::move(saved))));
  return table;
}

Table::Table(TableConfig created, const TableConfig& config, uint64_t seed, std::shared_ptr<MemoryAccount> memory,
             TableLog* log, uint64_t number, std::shared_ptr<ChunkTier> tier)
    : TableBase(std::move(created), log, number, std::move(tier)), core_(this, config, seed, std::move(memory)) {}

std::shared_ptr<const TableConfig> Table::config() const {
  MutexLock lock(&mutex_);
  return core_.config();
}

absl::StatusOr<Table::Reconfigured> Table::Reconfigure(const TableConfig& config, uint64_t generation, bool dry_run) {
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  AfterLock after;
  absl::StatusOr<Reconfigured> result;
  {
    MutexLock lock(&mutex_);
    result = core_.Reconfigure(config, generation, dry_run, &after.removed);
    core_.requests().RefuseImpossible(&after);
    core_.requests().Serve(&after);
  }
  after.Run();
  return result;
}

void Table::Insert(std::vector<NewItem> items, TableLog::Answer done, const std::shared_ptr<TableClient>& client,
                   const BlockOrigin& origin) {
  AfterLock after;
  {
    MutexLock lock(&mutex_);
    core_.requests().Insert(std::move(items), std::move(done), client, origin, &after);
  }
  after.Run();
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
    if (layout == checked_.layout && draw.items == checked_.items && draw.counted <= draw.items &&
        core_.config() == checked_.config) {
      return absl::OkStatus();
    }
    config = core_.config();
  }
  WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kImpossibleBatch, CheckDraw(*config, draw)));
  if (draw.items == 0) {
    return absl::OkStatus();
  }
  WAGGLE_RETURN_IF_ERROR(CheckLayout(*config, *layout, draw.items));
  CheckedRequest checked{std::move(config), layout, draw.items};
  MutexLock lock(&mutex_);
  std::swap(checked, checked_);  // The old one is destroyed outside the lock.
  return absl::OkStatus();
}

uint64_t Table::Draw(std::shared_ptr<const BatchLayout> layout, const DrawRequest& draw, DrawDone done,
                     const std::shared_ptr<TableClient>& client) {
  const bool only_looks = draw.items == 0 && draw.counted == 0;
  absl::Status refused = only_looks ? absl::OkStatus() : CheckRequest(layout, draw);
  if (!refused.ok()) {
    done(Annotate(refused, title()));
    return 0;
  }
  AfterLock after;
  uint64_t request = 0;
  {
    MutexLock lock(&mutex_);
    refused = core_.requests().CheckRoom(draw);
    if (refused.ok()) {
      request = core_.requests().Draw(std::move(layout), draw, std::move(done), client, &after);
    }
  }
  if (!refused.ok()) {
    done(refused);
    return 0;
  }
  after.Run();
  return request;
}

void Table::CancelSample(uint64_t request) {
  AfterLock after;
  {
    MutexLock lock(&mutex_);
    core_.requests().CancelSample(request, &after);
  }
  after.Run();
}

absl::StatusOr<PriorityUpdateCounts> Table::UpdatePriorities(absl::Span<const uint64_t> keys,
                                                             absl::Span<const uint64_t> generations,
                                                             absl::Span<const double> priorities,
                                                             absl::string_view who) {
  if (keys.size() != generations.size() || keys.size() != priorities.size()) {
    return absl::InvalidArgumentError(absl::StrCat(title(), ": got ", keys.size(), " keys, ", generations.size(),
                                                   " generations and ", priorities.size(),
                                                   " priorities; they must be as many"));
  }
  const std::shared_ptr<const TableConfig> config = this->config();
  for (size_t i = 0; i < priorities.size(); ++i) {
    if (absl::Status status = ValidatePriority(*config, priorities[i]); !status.ok()) {
      return WithReason(reasons::kBadPriority, Annotate(status, absl::StrCat(title(), ", update ", i)));
    }
  }
  MutexLock lock(&mutex_);
  return core_.UpdatePriorities(keys, generations, priorities, who);
}

PriorityUpdateCounts Table::Delete(absl::Span<const uint64_t> keys, absl::Span<const uint64_t> generations) {
  AfterLock after;
  PriorityUpdateCounts counts;
  {
    MutexLock lock(&mutex_);
    counts = core_.state().Delete(keys, generations, &after.removed);
    core_.requests().Serve(&after);
  }
  after.Run();
  return counts;
}

int64_t Table::Clear() {
  AfterLock after;
  for (;;) {
    const std::shared_ptr<const TableConfig> config = this->config();
    TableState::Contents contents(*config);  // Made and freed outside the lock.
    int64_t cleared;
    {
      MutexLock lock(&mutex_);
      if (config != core_.config()) {
        continue;  // Made for an old configuration.
      }
      cleared = core_.state().Clear(&contents);
      core_.requests().Serve(&after);
    }
    after.Run();
    return cleared;
  }
}

void Table::BeginAnew() {
  for (;;) {
    const std::shared_ptr<const TableConfig> config = this->config();
    TableState::Contents contents(*config);  // Made and freed outside the lock.
    MutexLock lock(&mutex_);
    if (config == core_.config()) {
      core_.state().BeginAnew(&contents);
      return;
    }
  }
}

void Table::Close() {
  std::vector<WaitingInsert> inserts;
  std::vector<WaitingSample> samples;
  {
    MutexLock lock(&mutex_);
    core_.requests().Close(&inserts, &samples);
  }
  Actions actions;
  for (WaitingInsert& insert : inserts) {
    actions.push_back([self = shared_from_this(), done = std::move(insert.done)] { done(self->ClosedError()); });
  }
  for (WaitingSample& sample : samples) {
    actions.push_back([self = shared_from_this(), done = std::move(sample.done)] { done(self->ClosedError()); });
  }
  RunAfterLock(std::move(actions));
}

void Table::Discard() {
  Close();
  {
    MutexLock lock(&mutex_);
    core_.state().StopRecording();
  }
  Clear();
}

void Table::TakeChanges(const std::vector<std::shared_ptr<Table>>& tables, std::vector<TableChanges>* changes,
                        const std::function<void()>& while_locked) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  // Always in order of numbers. Other code never holds two of these locks.
  changes->resize(tables.size());
  for (const std::shared_ptr<Table>& table : tables) {
    table->mutex_.Lock();
  }
  for (size_t i = 0; i < tables.size(); ++i) {
    tables[i]->core_.TakeChanges(std::numeric_limits<size_t>::max(), &(*changes)[i]);
  }
  while_locked();
  for (const std::shared_ptr<Table>& table : tables) {
    table->mutex_.Unlock();
  }
}

void Table::TakeSomeChanges(size_t most, TableChanges* changes) {
  MutexLock lock(&mutex_);
  core_.TakeChanges(most, changes);
}

size_t Table::changed_slots() const {
  MutexLock lock(&mutex_);
  return core_.state().changed_slots();
}

void Table::ForgetWriter(uint64_t writer) {
  MutexLock lock(&mutex_);
  core_.marks().Forget(writer);
}

void Table::TouchMark(uint64_t writer) {
  MutexLock lock(&mutex_);
  if (log() != nullptr) {
    core_.marks().Touch(writer);
  }
}

void Table::RestartMark(uint64_t writer, uint64_t sequence) {
  MutexLock lock(&mutex_);
  if (log() != nullptr) {
    core_.marks().Restart(writer, sequence);
  }
}

Table::Info Table::info() const {
  MutexLock lock(&mutex_);
  return core_.info();
}

TablePicture Table::picture() const {
  const std::vector<std::shared_ptr<const TableClient>> clients = clients_.all();
  const absl::Duration now = SteadyElapsed();
  TablePicture picture;
  {
    MutexLock lock(&mutex_);
    picture = core_.picture(now);
  }
  AddClients(clients, now, &picture);
  return picture;
}

bool Table::ListItems(uint32_t first, uint32_t count, std::vector<ItemAddress>* items) const {
  MutexLock lock(&mutex_);
  const TableState& state = core_.state();
  const uint32_t end = std::min(state.slots(), first + count);
  for (uint32_t slot = first; slot < end; ++slot) {
    if (const uint64_t generation = state.GenerationAt(slot); generation != 0) {
      items->push_back({generation, slot});
    }
  }
  return end < state.slots();
}

std::vector<SampledItem> Table::CopyItems(absl::Span<const ItemAddress> items) const {
  std::vector<SampledItem> copies;
  copies.reserve(items.size());
  MutexLock lock(&mutex_);
  const TableState& state = core_.state();
  for (const ItemAddress& item : items) {
    if (item.slot < state.slots() && state.GenerationAt(item.slot) == item.generation) {
      copies.push_back(state.ItemAt(item.slot));
    }
  }
  return copies;
}

bool Table::Scan(uint32_t* slot, std::vector<ItemFacts>* items) const {
  MutexLock lock(&mutex_);
  *slot = core_.state().Scan(*slot, kScanSlots, items);
  return *slot < core_.state().slots();
}

std::vector<ChunkRef> Table::FirstChunks(absl::Span<const ItemFacts> items) const {
  std::vector<ChunkRef> chunks(items.size());
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < items.size(); ++i) {
    chunks[i] = core_.state().FirstChunk(items[i].key, items[i].generation);
  }
  return chunks;
}

std::optional<Table::HeldItem> Table::Hold(uint64_t key) const {
  HeldItem item;
  MutexLock lock(&mutex_);
  return core_.state().Hold(key, &item.facts, &item.window) ? std::optional<HeldItem>(std::move(item)) : std::nullopt;
}

Table::Ages Table::ages() const {
  MutexLock lock(&mutex_);
  return {core_.state().next_generation(), core_.requests().insert_times()};
}

}  // namespace waggle
