#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "replay_server/table/table.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::OneRow;
using testing::SmallTable;
using testing::ValueOf;

// Samplers that ask again as soon as they are answered, and a writer.
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

  // Each sampler asks until it has to wait, the first one first, but at most `most` times.
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

  // Whether it went in at once.
  bool Insert() {
    const auto in = std::make_shared<bool>(false);  // One that waits is answered when the table is closed.
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

TEST_CASE("every batch that a table can serve is served, whatever others ask for", "[unit]") {
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
  // Enough for each of them to have its share of what inserts bring, several times over.
  for (int i = 0; i < 3000; ++i) {
    crowd.Ask(/*most=*/3);
    crowd.Insert();
  }
  for (const int64_t answered : crowd.answered()) {
    CHECK(answered >= 5);
  }
}

TEST_CASE("many large batches leave half of what inserts bring to a small one", "[unit]") {
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

TEST_CASE("only so many sizes of batches may wait at a time", "[unit]") {
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

}  // namespace
}  // namespace waggle
