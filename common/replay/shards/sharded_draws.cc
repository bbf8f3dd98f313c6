#include "common/replay/shards/sharded_draws.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace waggle {

namespace {

ShardedDrawsOptions WithPatience(ShardedDrawsOptions options) {
  options.patience = options.awaits_all ? absl::InfiniteDuration() : options.patience;
  return options;
}

}  // namespace

ShardedDraws::ShardedDraws(ShardedDrawsOptions options)
    : options_(WithPatience(std::move(options))),
      rng_(Rng::Split(options_.table.seed, absl::StrCat(options_.table.name, "/shards"), 0)),
      shards_(options_.shards.begin(), options_.shards.end()),
      pause_(options_.first_pause) {}

void ShardedDraws::Opened(size_t shard, absl::Time now) {
  ShardStanding& state = shards_[shard];
  state.open = state.was_open = state.came = true;
  state.late = false;
  state.heard = now;
  first_opened_ = std::min(first_opened_, now);
  Look(shard, now);
  Advance(now);
}

void ShardedDraws::Heard(size_t shard, absl::Time now) {
  shards_[shard].heard = now;
}

void ShardedDraws::Closed(size_t shard, absl::Time now) {
  shards_[shard].open = false;
  shards_[shard].known = false;
  LoseShard(shard, now);
  shards_[shard].asked.clear();
  asks_.erase(std::remove_if(asks_.begin(), asks_.end(), [shard](const ShardAsk& ask) { return ask.shard == shard; }),
              asks_.end());
  shards_[shard].owed_counted = shards_[shard].owed_items = shards_[shard].outstanding = 0;
  shards_[shard].looks = 0;
  if (std::none_of(shards_.begin(), shards_.end(), [](const ShardStanding& state) { return state.open; })) {
    // The next start waits for the other shards again.
    first_opened_ = absl::InfiniteFuture();
    for (ShardStanding& state : shards_) {
      state.came = false;
    }
  }
  Advance(now);
}

std::optional<ShardedDraws::Rows> ShardedDraws::Answered(size_t shard, const ShardFacts& facts, absl::Time now) {
  ShardStanding& state = shards_[shard];
  if (state.outstanding == 0) {
    return std::nullopt;
  }
  --state.outstanding;
  const Asked asked = state.asked.front();
  state.asked.pop_front();
  state.owed_counted -= asked.counted;
  state.owed_items -= asked.items;
  state.looks -= asked.look ? 1 : 0;
  if (!state.known || state.facts.items != facts.items || state.facts.samples_allowed != facts.samples_allowed) {
    pause_ = options_.first_pause;
  }
  state.heard = now;
  state.late = false;
  state.known = state.looks == 0;
  state.facts = facts;
  Rows rows{0, shard, asked.first_row, asked.items};
  if (Batch* const batch = Find(asked.batch); batch != nullptr) {
    rows.batch = asked.batch;
    batch->facts[shard] = facts;
    if (asked.items > 0) {
      batch->rows.push_back(rows);
    } else {
      --batch->waiting;
    }
  }
  Advance(now);
  return rows;
}

void ShardedDraws::Stored(const Rows& rows, absl::Time now) {
  if (Batch* const batch = Find(rows.batch); batch != nullptr && rows.count > 0) {
    --batch->waiting;
  }
  Advance(now);
}

void ShardedDraws::Want(absl::Time now) {
  if (options_.prefetch > 0 || std::exchange(wanted_, true)) {
    return;
  }
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i].Usable()) {
      Look(i, now);
    }
  }
  Advance(now);
}

void ShardedDraws::Tick(absl::Time now) {
  FindLate(now);
  if (now >= first_opened_ + options_.patience) {
    for (ShardStanding& shard : shards_) {
      shard.was_open = shard.came = true;
    }
  }
  Advance(now);
}

void ShardedDraws::Advance(absl::Time now) {
  BeginBatches(now);
  Poll(now);
}

std::optional<ShardedDraws::Complete> ShardedDraws::Take(absl::Time now) {
  if (!ready()) {
    return std::nullopt;
  }
  const Complete complete = batches_.front().Completed(shards_);
  batches_.pop_front();
  wanted_ = false;
  Advance(now);
  return complete;
}

// Requests above a shard's limit wait until it has answered others.
std::vector<ShardAsk> ShardedDraws::TakeAsks() {
  std::vector<ShardAsk> now;
  std::vector<ShardAsk> later;
  for (const ShardAsk& ask : asks_) {
    int64_t& outstanding = shards_[ask.shard].outstanding;
    const bool may_ask = outstanding < options_.max_outstanding;
    outstanding += may_ask ? 1 : 0;
    (may_ask ? now : later).push_back(ask);
  }
  asks_ = std::move(later);
  return now;
}

absl::Time ShardedDraws::NextTick() const {
  absl::Time next = next_poll_;
  bool all_came = true;
  for (const ShardStanding& shard : shards_) {
    all_came = all_came && shard.came;
    if (shard.Usable()) {
      next = std::min(next, std::max(shard.LateAt(options_.patience), next_late_check_));
    }
  }
  return all_came ? next : std::min(next, first_opened_ + options_.patience);
}

bool ShardedDraws::Missing(size_t shard) const {
  return !IsSingle() && shards_[shard].was_open && !shards_[shard].Usable();
}

int64_t ShardedDraws::missing_shards() const {
  int64_t missing = 0;
  for (size_t i = 0; i < shards_.size(); ++i) {
    missing += Missing(i) ? 1 : 0;
  }
  return missing;
}

// A shard is late only while another answers: if all are silent, this process may have been held up.
void ShardedDraws::FindLate(absl::Time now) {
  const bool one_keeps_up = std::any_of(shards_.begin(), shards_.end(), [&](const ShardStanding& shard) {
    return shard.Usable() && now < shard.LateAt(options_.patience);
  });
  next_late_check_ = one_keeps_up ? now : now + options_.patience / 8;
  if (!one_keeps_up) {
    return;
  }
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i].Usable() && now >= shards_[i].LateAt(options_.patience)) {
      shards_[i].late = true;
      LoseShard(i, now);
    }
  }
}

// Draws its open requests from other shards. They stay in the list: a late shard still answers them.
void ShardedDraws::LoseShard(size_t shard, absl::Time now) {
  for (size_t i = 0; i < shards_[shard].asked.size(); ++i) {
    Asked& asked = shards_[shard].asked[i];
    if (asked.batch != 0) {
      LosePart(shard, std::exchange(asked, Asked{0, 0, asked.items, asked.counted, asked.at}), now);
    }
  }
}

void ShardedDraws::LosePart(size_t shard, const Asked& lost, absl::Time now) {
  Batch* const batch = Find(lost.batch);
  if (batch == nullptr) {
    return;
  }
  batch->LoseShard(shard);
  if (options_.awaits_all) {
    Restart(batch);
    return;
  }
  const std::optional<DrawPlan> plan = PlanReplacement(shards_, options_.table, batch->weights, shard, lost, &rng_);
  if (!plan.has_value()) {
    Restart(batch);
    return;
  }
  int64_t row = lost.first_row;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (plan->items[i] > 0) {
      ++batch->waiting;
      AskFor(i, Asked{batch->number, row, plan->items[i], plan->counted[i], now});
      row += plan->items[i];
    } else if (plan->counted[i] > 0) {
      AskFor(i, Asked{0, 0, 0, plan->counted[i], now});
    }
  }
}

// Lets the batch be drawn anew from the shards that are there then. Ignores answers for it.
void ShardedDraws::Restart(Batch* batch) {
  for (ShardStanding& shard : shards_) {
    for (Asked& asked : shard.asked) {
      asked.batch = asked.batch == batch->number ? 0 : asked.batch;
    }
  }
  *batch = Batch();
}

ShardedDraws::Batch* ShardedDraws::Find(uint64_t number) {
  for (Batch& batch : batches_) {
    if (number != 0 && batch.number == number) {
      return &batch;
    }
  }
  return nullptr;
}

// True if a table that gave batches is still there.
bool ShardedDraws::Started() const {
  return std::any_of(shards_.begin(), shards_.end(), [](const ShardStanding& shard) { return shard.Started(); });
}

// True if the first batch may be drawn: the whole table has min_items, or gets no more before samples are made.
bool ShardedDraws::MayStart() const {
  int64_t items = 0;
  bool one_is_usable = false;
  bool all_ready = true;
  bool one_is_full = false;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (!shards_[i].came) {
      return false;
    }
    if (!shards_[i].Usable()) {
      continue;
    }
    one_is_usable = true;
    if (!shards_[i].known) {
      return false;
    }
    items += shards_[i].facts.items;
    all_ready = all_ready && shards_[i].Drawable();
    one_is_full = one_is_full || (shards_[i].Drawable() && shards_[i].TakesNoMore());
  }
  return one_is_usable && (all_ready || one_is_full || items >= options_.table.rate_limiter.min_items);
}

// True if batches can be drawn. With a prefetch of 0 they need the answers to Want.
bool ShardedDraws::MayBegin() const {
  if (IsSingle()) {
    return shards_[0].open;
  }
  if (options_.awaits_all && !std::all_of(shards_.begin(), shards_.end(),
                                          [](const ShardStanding& shard) { return shard.Usable() && shard.known; })) {
    return false;
  }
  const bool looking = std::any_of(shards_.begin(), shards_.end(),
                                   [](const ShardStanding& shard) { return shard.Usable() && !shard.known; });
  return !(looking && options_.prefetch == 0) && (Started() || MayStart());
}

bool ShardedDraws::Begin(Batch* batch, absl::Time now) {
  const int64_t items = options_.batch_size;
  std::optional<DrawPlan> plan =
      IsSingle() ? DrawPlan{{1}, {items}, {items}} : PlanBatch(shards_, options_.table, items, last_number_ + 1, &rng_);
  if (!plan.has_value()) {
    return false;
  }
  batch->number = ++last_number_;
  batch->begun = true;
  batch->weights = std::move(plan->weights);
  batch->facts.resize(shards_.size());
  batch->missing.resize(shards_.size());
  int64_t row = 0;
  for (size_t i = 0; i < shards_.size(); ++i) {
    batch->missing[i] = Missing(i);
    if (shards_[i].Usable()) {
      ++batch->waiting;
      AskFor(i, Asked{batch->number, row, plan->items[i], plan->counted[i], now});
      row += plan->items[i];
    }
  }
  pause_ = options_.first_pause;
  return true;
}

// Begins batches in order, restarted ones first.
void ShardedDraws::BeginBatches(absl::Time now) {
  if ((BatchesWanted() == 0 && batches_.empty()) || !MayBegin()) {
    return;
  }
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (shards_[i].Drawable()) {
      shards_[i].drawn_from = shards_[i].facts.incarnation;
    }
  }
  for (Batch& batch : batches_) {
    if (!batch.begun && !Begin(&batch, now)) {
      return;
    }
  }
  const int64_t wanted = BatchesWanted();
  const int64_t missing = wanted - static_cast<int64_t>(batches_.size());
  // A single shard gets requests for several batches in one message, which costs as much as a small batch.
  if (IsSingle() && 2 * missing < wanted) {
    return;
  }
  for (int64_t i = 0; i < missing; ++i) {
    Batch batch;
    if (!Begin(&batch, now)) {
      return;
    }
    batches_.push_back(std::move(batch));
  }
}

// Asks again about tables that do not allow a batch.
void ShardedDraws::Poll(absl::Time now) {
  next_poll_ = absl::InfiniteFuture();
  const bool wants = static_cast<int64_t>(batches_.size()) < BatchesWanted() ||
                     std::any_of(batches_.begin(), batches_.end(), [](const Batch& batch) { return !batch.begun; });
  if (IsSingle() || !wants) {
    return;
  }
  const auto usable = std::count_if(shards_.begin(), shards_.end(), [&](const ShardStanding& s) { return s.Usable(); });
  bool asked = false;
  for (size_t i = 0; i < shards_.size(); ++i) {
    ShardStanding& shard = shards_[i];
    if (!shard.Usable() || !shard.asked.empty()) {
      continue;
    }
    if (now >= shard.asked_at + pause_) {
      AskFor(i, Asked{0, 0, 0, 0, now}, (options_.batch_size + usable - 1) / usable);
      asked = true;
    } else {
      next_poll_ = std::min(next_poll_, shard.asked_at + pause_);
    }
  }
  if (asked) {
    pause_ = std::min(2 * pause_, options_.longest_pause);
  }
}

// Asks for the present state of the shard's table.
void ShardedDraws::Look(size_t shard, absl::Time now) {
  shards_[shard].known = false;
  if (!IsSingle()) {
    ++shards_[shard].looks;
    AskFor(shard, Asked{0, 0, 0, 0, now, /*look=*/true});
  }
}

void ShardedDraws::AskFor(size_t shard, const Asked& asked, int64_t waits_for) {
  ShardStanding& state = shards_[shard];
  state.asked.push_back(asked);
  state.asked_at = asked.at;
  state.owed_counted += asked.counted;
  state.owed_items += asked.items;
  asks_.push_back({shard, static_cast<uint32_t>(asked.items), static_cast<uint32_t>(asked.counted),
                   static_cast<uint32_t>(waits_for)});
}

}  // namespace waggle
