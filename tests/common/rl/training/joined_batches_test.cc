#include "common/rl/training/joined_batches.h"

#include "common/config/table/batch_layout.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TensorBatch BatchOf(int64_t rows, float value) {
  TensorBatch batch;
  batch.size = rows;
  batch.table_items = 10 * rows;
  batch.fields["reward"] = torch::full({rows, 2}, value);
  batch.fields[kItemProbability] = torch::full({rows}, 0.1, torch::kFloat64);
  return batch;
}

TablePlan Table(const std::string& name, const std::string& adds_to = "") {
  TablePlan table;
  table.name = name;
  table.adds_to = adds_to;
  return table;
}

TEST_CASE("rows of imported episodes follow those of the table that they add to", "[unit]") {
  const std::vector<TablePlan> tables = {Table("a"), Table("b"), Table("imported_a", "a")};
  const TensorBatch a = BatchOf(6, 1), b = BatchOf(4, 2), imported = BatchOf(2, 3);
  const JoinedBatches joined(tables, std::vector<const TensorBatch*>{&a, &b, &imported});
  REQUIRE(joined.by_name().size() == 2);
  CHECK(joined.by_name().at("b") == &b);  // Without a copy.
  const TensorBatch& both = *joined.by_name().at("a");
  CHECK(both.size == 8);
  CHECK(both.table_items == 80);
  CHECK(torch::equal(both.at("reward"), torch::cat({a.at("reward"), imported.at("reward")})));
  // An item's probability among all eight draws.
  CHECK(both.at(kItemProbability)[0].item<double>() == Approx(0.1 * 6 / 8));
  CHECK(both.at(kItemProbability)[7].item<double>() == Approx(0.1 * 2 / 8));

  const torch::Tensor priorities = torch::arange(8);
  CHECK(torch::equal(joined.PartOf(0, priorities), torch::arange(6)));
  CHECK(torch::equal(joined.PartOf(2, priorities), torch::arange(6, 8)));
  CHECK(torch::equal(joined.PartOf(1, torch::arange(4)), torch::arange(4)));
  CHECK_FALSE(joined.PartOf(0, torch::Tensor()).defined());
}

}  // namespace
}  // namespace waggle
