#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "replay_server/table/table.h"
#include "tests/replay_server/table/table_answers.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::Answers;
using testing::Items;
using testing::LayoutFor;
using testing::NewTable;
using testing::OneRow;
using testing::SmallTable;
using testing::ValueOf;

// A writer, and samplers that ask again after each answer.
class Crowd {
 public:
  Crowd(const TableConfig& config, std::vector<int64_t> sizes)
      : sizes_(std::move(sizes)), table_(ValueOf(Table::Create(config, 1))) {
    for (const int64_t size : sizes_) {
      layouts_.push_back(std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(config, size, size_t{1} << 30))));
    }
    answered_.resize(sizes_.size());
    waits_.resize(sizes_.size());
  }

  // Each sampler, in order, asks until it must wait, but at most `most` times.
  void Ask(int most) {
    for (size_t i = 0; i < sizes_.size(); ++i) {
      for (int k = 0; k < most && !waits_[i]; ++k) {
        waits_[i] = true;
        table_->Draw(layouts_[i], {sizes_[i], sizes_[i]}, [this, i](const absl::StatusOr<DrawnBatch>& drawn) {
          waits_[i] = false;
          answered_[i] += drawn.ok() ? 1 : 0;
        });
      }
    }
  }

  // Returns true if the item went in at once.
  bool Insert() {
    const auto in = std::make_shared<bool>(false);  // A waiting insert is answered when the table is closed.
    table_->Insert({OneRow(inserts_++)}, [in](const absl::Status& /*status*/) { *in = true; });
    return *in;
  }

  const std::vector<int64_t>& answered() const { return answered_; }
  Table* table() { return table_.get(); }
  ~Crowd() { table_->Close(); }

 private:
  const std::vector<int64_t> sizes_;
  const std::shared_ptr<Table> table_;
  std::vector<std::shared_ptr<const BatchLayout>> layouts_;
  std::vector<int64_t> answered_;
  std::vector<bool> waits_;
  uint64_t inserts_ = 0;
};

TEST_CASE("every batch that a table can serve is served, with any requests of other samplers", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 1000;
  config.sampler.without_replacement = GENERATE(false, true);
  config.max_times_sampled = GENERATE(0, 1, 3);
  if (GENERATE(false, true)) {
    config.rate_limiter = {/*samples_per_insert=*/2, /*min_items=*/1, /*error_buffer=*/25};
  }
  std::vector<int64_t> sizes = {1, 7, 40};
  if (GENERATE(false, true)) {
    std::reverse(sizes.begin(), sizes.end());
  }
  CAPTURE(config.sampler.without_replacement, config.max_times_sampled, config.rate_limiter.samples_per_insert, sizes);
  Crowd crowd(config, sizes);
  // Enough for each of them to get its share of the new items several times.
  for (int i = 0; i < 3000; ++i) {
    crowd.Ask(/*most=*/3);
    crowd.Insert();
  }
  for (const int64_t answered : crowd.answered()) {
    CHECK(answered >= 5);
  }
}

TEST_CASE("many large batches leave half of the new items to a small one", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 1000;
  config.rate_limiter = {/*samples_per_insert=*/1, /*min_items=*/1, /*error_buffer=*/41};
  Crowd crowd(config, {40, 40, 40, 40, 1});
  constexpr int kInserts = 4000;
  for (int i = 0; i < kInserts; ++i) {
    crowd.Ask(/*most=*/1);
    crowd.Insert();
  }
  CHECK(crowd.answered()[4] >= kInserts / 3);
  for (int large = 0; large < 4; ++large) {
    CHECK(crowd.answered()[static_cast<size_t>(large)] >= kInserts / 3 / 40 / 4);
  }
}

TEST_CASE("a ratio holds beside a batch for which items leave too early", "[unit]") {
  TableConfig config = SmallTable();
  config.max_items = 1000;
  config.sampler.without_replacement = true;
  config.rate_limiter = {/*samples_per_insert=*/1, /*min_items=*/1, /*error_buffer=*/50};
  config.max_bytes = 20 * OneRow(0).window.chunks[0]->block_bytes();
  Crowd crowd(config, {100, 10});
  int64_t inserted = 0;
  for (int i = 0; i < 2000 && crowd.table()->info().inserts_waiting == 0; ++i) {
    inserted += crowd.Insert() ? 1 : 0;
    crowd.Ask(/*most=*/i % 50 == 0 ? 1 : 0);
  }
  const Table::Info info = crowd.table()->info();
  CHECK(info.inserts_waiting == 1);
  CHECK(inserted - info.items_sampled <= 2 * 50 + 10);
}

TEST_CASE("only a limited number of batch sizes may wait at a time", "[unit]") {
  const TableConfig config = SmallTable();
  const auto table = ValueOf(Table::Create(config, 1));
  int refused = 0;
  for (int64_t size = 1; size <= 300; ++size) {
    const auto layout = std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(config, size, size_t{1} << 30)));
    table->Draw(layout, {size, size}, [&refused](const absl::StatusOr<DrawnBatch>& drawn) {
      refused += absl::IsResourceExhausted(drawn.status()) ? 1 : 0;
    });
  }
  CHECK(refused == 300 - 256);
  CHECK(table->info().samples_waiting == 256);
  table->Close();
}

// Batches that cannot be drawn yet: of more different items than there are, of more items than the ratio allows, or of
// more items than a queue has.
struct TooLarge {
  TableConfig config;
  int64_t items = 0;  // In the table.
  int64_t batch = 0;
};

TooLarge MakeTooLarge(const std::string& kind) {
  TooLarge too_large{SmallTable(), 10, 20};
  too_large.config.max_items = 1000;
  if (kind == "different") {
    too_large.config.sampler.without_replacement = true;
  } else if (kind == "ratio") {
    too_large.config.rate_limiter = {/*samples_per_insert=*/1, /*min_items=*/1};
    too_large.config.rate_limiter.min_difference = 0;
    too_large.config.rate_limiter.max_difference = 21;
  } else {
    too_large.config.sampler.kind = SelectorKind::kFifo;
    too_large.config.max_times_sampled = 1;
  }
  return too_large;
}

TEST_CASE("a batch that cannot be drawn yet does not delay batches that can", "[unit]") {
  const std::string kind = GENERATE("different", "ratio", "queue");
  CAPTURE(kind);
  const TooLarge too_large = MakeTooLarge(kind);
  const auto table = NewTable(too_large.config);
  Answers answers;
  table->Insert(Items(0, 10), answers.OnInsert("insert"));
  table->Sample(LayoutFor(too_large.config, 20), 20, answers.OnSample("large"));
  for (int i = 0; i < 5; ++i) {
    table->Sample(LayoutFor(too_large.config, 2), 2, answers.OnSample("small"));
  }
  CHECK(answers.order == std::vector<std::string>{"insert", "small", "small", "small", "small", "small"});
  CHECK(table->info().samples_waiting == 1);
  CHECK(absl::StrContains(table->info().blocked_because, "more"));
  table->Insert(Items(10, 30), answers.OnInsert("insert"));
  REQUIRE(answers.samples.size() == 6);
  CHECK(answers.samples.back().ok());
}

TEST_CASE("small batches do not delay a large one for ever", "[unit]") {
  const std::string kind = GENERATE("different", "ratio", "queue");
  CAPTURE(kind);
  const TooLarge too_large = MakeTooLarge(kind);
  const auto table = NewTable(too_large.config);
  Answers answers;
  table->Insert(Items(0, 1), answers.OnInsert("insert"));
  table->Sample(LayoutFor(too_large.config, 20), 20, answers.OnSample("large"));
  int64_t small = 0;
  int64_t inserted = 1;
  for (; answers.samples.size() == static_cast<size_t>(small) && inserted < 100; ++inserted) {
    table->Insert(Items(static_cast<uint64_t>(inserted), 1), answers.OnInsert("insert"));
    bool waits = false;
    for (; !waits; ++small) {  // As many as can be drawn, or a few if any number can.
      const size_t before = answers.samples.size();
      const uint64_t request = table->Sample(LayoutFor(too_large.config, 1), 1, answers.OnSample("small"));
      waits = request != 0 || small > 3 * inserted;
      if (request != 0) {
        table->CancelSample(request);
      }
      REQUIRE(answers.samples.size() > before);
    }
  }
  CHECK(std::count(answers.order.begin(), answers.order.end(), "large") == 1);
  CHECK(inserted <= 2 * 20 + 2);  // Half of the new items are for it.
}

TEST_CASE("no item is set aside for a batch that lacks items, or whose items leave for their bytes", "[unit]") {
  TooLarge too_large = MakeTooLarge("queue");
  const int64_t item_bytes = [&] {
    const auto table = NewTable(too_large.config);
    Answers answers;
    table->Insert(Items(0, 1), answers.OnInsert("insert"));
    return table->info().bytes;
  }();
  too_large.config.max_bytes = 6 * item_bytes;
  const auto table = NewTable(too_large.config);
  Answers answers;
  table->Sample(LayoutFor(too_large.config, 20), 20, answers.OnSample("large"));
  table->Insert(Items(0, 100), answers.OnInsert("insert"));
  REQUIRE(table->info().items <= 6);
  for (int64_t left = table->info().items; left > 0; --left) {
    CHECK(table->Sample(LayoutFor(too_large.config, 1), 1, answers.OnSample("small")) == 0);
  }
}

TEST_CASE("each size of batch that waits has its own reason", "[unit]") {
  const TooLarge too_large = MakeTooLarge("different");
  const auto table = NewTable(too_large.config);
  Answers answers;
  table->Insert(Items(0, 10), answers.OnInsert("insert"));
  table->Sample(LayoutFor(too_large.config, 900), 900, answers.OnSample("first"));
  table->Sample(LayoutFor(too_large.config, 20), 20, answers.OnSample("second"));
  const std::string why = table->info().blocked_because;
  CHECK(absl::StrContains(why, "a batch of 900: samples wait for 890 more items"));
  CHECK(absl::StrContains(why, "a batch of 20: samples wait for 10 more items"));
}

}  // namespace
}  // namespace waggle
