#include "replay_server/table/table_view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/steady_now.h"
#include "replay_server/table/table.h"

// Read-only functions of Table, for people and metrics.

namespace waggle {
namespace {

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

// Explains each size of batch: different sizes wait for different things.
void Table::AddWhySamplesWaitLocked(std::string* text) const {
  constexpr size_t kMaxTold = 4;
  const std::vector<const WaitingSample*> waiting = samples_.FirstOfEach(kMaxTold);
  const size_t untold = samples_.kinds() - waiting.size();
  for (const WaitingSample* sample : waiting) {
    std::string why = state_.WhyNoSample(sample->draw);
    if (why.empty()) {
      why = absl::StrCat("half of what inserts bring is set aside for a batch of ", waiting.front()->draw.items);
    }
    absl::StrAppend(text, text->empty() ? "" : "; ");
    if (waiting.size() > 1) {
      absl::StrAppend(
          text, "a batch of ", sample->draw.items,
          sample->draw.counted == sample->draw.items ? "" : absl::StrCat(", counted as ", sample->draw.counted), ": ");
    }
    absl::StrAppend(text, why);
  }
  if (untold > 0) {
    absl::StrAppend(text, "; batches of ", untold, " other sizes wait too");
  }
}

Table::Info Table::info() const {
  MutexLock lock(&mutex_);
  Info info;
  info.config = config_;
  info.config_generation = config_generation_;
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
  AddWhySamplesWaitLocked(&info.blocked_because);
  if (log_ != nullptr) {
    if (const absl::Status status = log_->status(); !status.ok()) {
      absl::StrAppend(&info.blocked_because, info.blocked_because.empty() ? "" : "; ", status.message());
    }
  }
  if (tier_ != nullptr) {
    info.tier = tier_->info();
    if (!info.tier.status.ok()) {
      absl::StrAppend(&info.blocked_because, info.blocked_because.empty() ? "" : "; ", WhyTierWaits(info.tier));
    }
  }
  return info;
}

bool Table::ListItems(uint32_t first, uint32_t count, std::vector<ItemAddress>* items) const {
  MutexLock lock(&mutex_);
  const uint32_t end = std::min(state_.slots(), first + count);
  for (uint32_t slot = first; slot < end; ++slot) {
    if (const uint64_t generation = state_.GenerationAt(slot); generation != 0) {
      items->push_back({generation, slot});
    }
  }
  return end < state_.slots();
}

std::vector<SampledItem> Table::CopyItems(absl::Span<const ItemAddress> items) const {
  std::vector<SampledItem> copies;
  copies.reserve(items.size());
  MutexLock lock(&mutex_);
  for (const ItemAddress& item : items) {
    if (item.slot < state_.slots() && state_.GenerationAt(item.slot) == item.generation) {
      copies.push_back(state_.ItemAt(item.slot));
    }
  }
  return copies;
}

TablePicture Table::picture() const {
  constexpr size_t kMaxListed = 64;  // Bounds the time of the lock.
  const std::vector<std::shared_ptr<const TableClient>> clients = clients_.all();
  TablePicture picture;
  const absl::Duration now = SteadyElapsed();
  const auto wait = [now](const TableClient* client, absl::Duration since, const DrawRequest& asked) {
    return TablePicture::Wait{client != nullptr ? client->name() : "", client == nullptr || client->present(), asked,
                              now - since};
  };
  {
    MutexLock lock(&mutex_);
    picture.config = config_;
    picture.config_generation = config_generation_;
    picture.counts = state_.counts();
    picture.bytes = state_.bytes();
    picture.inserts = state_.items_inserted();
    picture.samples = state_.items_sampled();
    picture.ratio_carried = state_.limiter().carried();
    picture.byte_shortage = state_.byte_shortage();
    picture.inserts_waiting = static_cast<int64_t>(inserts_.size());
    picture.samples_waiting = static_cast<int64_t>(samples_.size());
    for (const WaitingInsert* insert : inserts_.First(kMaxListed)) {
      const auto left = static_cast<int64_t>(insert->items.size() - insert->next);
      picture.first_inserts.push_back(wait(insert->client, insert->since, {left, 0}));
    }
    for (const WaitingSample* sample : samples_.First(kMaxListed)) {
      picture.first_samples.push_back(wait(sample->client, sample->since, sample->draw));
    }
    if (updated_ns_ != 0) {
      picture.last_update = {now - absl::Nanoseconds(updated_ns_), updated_by_};
    }
    if (tier_ != nullptr) {
      picture.tier = tier_->info();
    }
    if (const MemoryAccount* memory = state_.memory(); memory != nullptr) {
      picture.server_bytes = memory->used();
      picture.server_max_bytes = memory->limit();
    }
  }
  AddClients(clients, now, &picture);
  return picture;
}

bool Table::Scan(uint32_t* slot, std::vector<ItemFacts>* items) const {
  MutexLock lock(&mutex_);
  *slot = state_.Scan(*slot, kScanSlots, items);
  return *slot < state_.slots();
}

std::vector<ChunkRef> Table::FirstChunks(absl::Span<const ItemFacts> items) const {
  std::vector<ChunkRef> chunks(items.size());
  MutexLock lock(&mutex_);
  for (size_t i = 0; i < items.size(); ++i) {
    chunks[i] = state_.FirstChunk(items[i].key, items[i].generation);
  }
  return chunks;
}

std::optional<Table::HeldItem> Table::Hold(uint64_t key) const {
  HeldItem item;
  MutexLock lock(&mutex_);
  return state_.Hold(key, &item.facts, &item.window) ? std::optional<HeldItem>(std::move(item)) : std::nullopt;
}

Table::Ages Table::ages() const {
  MutexLock lock(&mutex_);
  return {state_.next_generation(), insert_times_};
}

}  // namespace waggle
