#include "common/config/table/batch_layout.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TableConfig Config() {
  TableConfig config;
  config.name = "replay";
  config.signature = {{"observation", DType::kFloat32, {4}}, {"reward", DType::kFloat32, {}}};
  config.view = {{"observation", "observation", ViewField::Rows::kFirst},
                 {"next_observation", "observation", ViewField::Rows::kLast},
                 {"reward", "reward", ViewField::Rows::kAll}};
  config.max_items = 100;
  config.max_bytes = 1000;
  config.max_window = 3;
  return config;
}

}  // namespace

TEST_CASE("a batch holds the view's fields and the facts, aligned and without overlap", "[unit]") {
  const BatchLayout layout = testing::ValueOf(MakeBatchLayout(Config(), 10, 1 << 20));
  std::vector<std::string> fields;
  size_t end = 0;
  for (const BatchField& field : layout.fields) {
    fields.push_back(field.spec.DebugString());
    REQUIRE(field.offset % 64 == 0);
    REQUIRE(field.offset >= end);
    end = field.offset + static_cast<size_t>(field.spec.NumBytes());
  }
  REQUIRE(layout.total_bytes >= end);
  REQUIRE(fields == std::vector<std::string>{"observation: float32[10, 4]", "next_observation: float32[10, 4]",
                                             "reward: float32[10, 3]", "item/key: int64[10]",
                                             "item/generation: int64[10]", "item/length: int64[10]",
                                             "item/policy_version: int64[10]", "item/times_sampled: int64[10]",
                                             "item/probability: float64[10]", "item/priority: float64[10]"});
}

TEST_CASE("a batch has a future row's distance, and other fields take the transition's rows", "[unit]") {
  TableConfig config = Config();
  config.view.push_back({"goal", "observation", ViewField::Rows::kFuture});
  config.view.push_back({"goals", "observation", ViewField::Rows::kFuture, 2});
  config.transition_rows = 2;
  const BatchLayout layout = testing::ValueOf(MakeBatchLayout(config, 10, 1 << 20));
  CHECK(testing::ValueOf(layout.Find("reward"))->spec.DebugString() == "reward: float32[10, 2]");
  CHECK(testing::ValueOf(layout.Find("goal"))->spec.DebugString() == "goal: float32[10, 4]");
  CHECK(testing::ValueOf(layout.Find("goals"))->spec.DebugString() == "goals: float32[10, 2, 4]");
  CHECK(layout.fields.back().spec.DebugString() == "item/future_offset: int64[10]");
  CHECK_FALSE(MakeBatchLayout(Config(), 10, 1 << 20)->Find(kItemFutureOffset).ok());
}

TEST_CASE("a field of a batch is found by name", "[unit]") {
  const BatchLayout layout = testing::ValueOf(MakeBatchLayout(Config(), 10, 1 << 20));
  REQUIRE(testing::ValueOf(layout.Find("reward")) == &layout.fields[2]);
  const absl::Status status = layout.Find("rewards").status();
  REQUIRE_CODE(status, absl::StatusCode::kNotFound);
  REQUIRE(absl::StrContains(status.message(), "next_observation"));
}

TEST_CASE("a batch that is too large or too small is refused", "[unit]") {
  const size_t bytes = testing::ValueOf(MakeBatchLayout(Config(), 10, 1 << 20)).total_bytes;
  REQUIRE_OK(MakeBatchLayout(Config(), 10, bytes));
  REQUIRE_CODE(MakeBatchLayout(Config(), 10, bytes - 1), absl::StatusCode::kResourceExhausted);
  REQUIRE_CODE(MakeBatchLayout(Config(), int64_t{1} << 62, ~size_t{0}), absl::StatusCode::kResourceExhausted);
  REQUIRE_CODE(MakeBatchLayout(Config(), 0, bytes), absl::StatusCode::kInvalidArgument);
  TableConfig wrong = Config();
  wrong.view[0].column = "none";
  REQUIRE_CODE(MakeBatchLayout(wrong, 10, bytes), absl::StatusCode::kInvalidArgument);
}

}  // namespace waggle
