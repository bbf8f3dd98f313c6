#include "cli/replay/inspect_report.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/cli/golden_json.h"
#include "tests/support/catch.h"
#include "tests/support/text_proto.h"

namespace waggle {
namespace {

template <class T>
v1::InspectedColumn Column(const std::string& name, v1::DataType dtype, const std::vector<int64_t>& shape,
                           const std::vector<T>& values) {
  v1::InspectedColumn column;
  column.mutable_spec()->set_name(name);
  column.mutable_spec()->set_dtype(dtype);
  for (const int64_t size : shape) {
    column.mutable_spec()->add_shape(size);
  }
  column.set_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  column.set_checksum(0x1234);
  column.set_min(-1);
  column.set_max(2.5);
  column.set_mean(0.5);
  return column;
}

Inspections Sample() {
  Inspections inspections(2);
  inspections[0].address = "hive:1";
  inspections[0].response = testing::FromText<v1::InspectResponse>(R"(
      table_items: 300 unknown_keys: 99 next_page_token: "n-11-4d2-0"
      statistics { items: 300 rows: 600 min_policy_version: 10 max_policy_version: 90 mean_policy_version: 45.5
                   max_priority: 3 mean_priority: 0.75
                   priorities { count: 100 } priorities { low: 0.5 high: 1 count: 200 }
                   times_sampled { count: 1 } times_sampled { low: 1 high: 2 count: 200 }
                   times_sampled { low: 2 high: 4 count: 99 } }
      items { key: 17 generation: 1234 age_inserts: 5 age_seconds: 75 priority: 0.75 probability: 0.0025
              times_sampled: 3 policy_version: 42 rows: 2 context_rows: 1 producer: "actor-1" }
      items { key: 18 })");
  inspections[1].address = "hive:2";
  inspections[1].status = absl::UnavailableError("connection refused");
  return inspections;
}

TEST_CASE("The text shows a table's statistics and its items", "[unit]") {
  CHECK(
      InspectText("t", Sample()) ==
      "t at hive:1: 300 items\n"
      "  policy versions 10 to 90, mean 45.5; 600 rows in windows\n"
      "  priorities 0 to 3, mean 0.75\n"
      "    0         100  ####################\n"
      "    0.5 to 1  200  ########################################\n"
      "  times sampled\n"
      "    0       1    \n"
      "    1       200  ########################################\n"
      "    2 to 3  99   ###################\n"
      "  key  generation  age       inserts since  priority  probability  sampled  policy version  rows       writer\n"
      "  17   1234        1 m 15 s  5              0.75      0.0025       3        42              2 after 1  actor-1\n"
      "  18   0           ?         0              0         -            0        0               0          ?\n"
      "  there is no item of key 99\n"
      "  next page: --page n-11-4d2-0\n"
      "the replay server at hive:2 does not answer: connection refused\n");
}

TEST_CASE("Many buckets are merged", "[unit]") {
  Inspections inspections(1);
  v1::ItemStatistics* statistics = inspections[0].response.mutable_statistics();
  statistics->set_items(2000);
  for (int i = 0; i < 200; ++i) {
    v1::HistogramBucket* const bucket = statistics->add_priorities();
    bucket->set_low(i);
    bucket->set_high(i + 1);
    bucket->set_count(10);
  }
  const std::string text = InspectText("t", inspections);
  CHECK(absl::StrContains(text, "    0 to 16     160  ####"));
  CHECK(absl::StrContains(text, "    192 to 200  80   ####"));
}

TEST_CASE("Small columns are shown in full, large ones are summed up", "[unit]") {
  Inspections inspections = Sample();
  v1::InspectResponse& response = inspections[0].response;
  *response.add_columns() = Column<float>("pair", v1::DATA_TYPE_FLOAT32, {3, 2}, {0.1F, 2, 2.5F, -1, 0, 1});
  *response.add_columns() = Column<int64_t>("id", v1::DATA_TYPE_INT64, {3}, {7, 8, 9});
  *response.add_columns() = Column<uint8_t>("frame", v1::DATA_TYPE_UINT8, {3, 20}, std::vector<uint8_t>(60));
  *response.add_columns() = Column<float>("away", v1::DATA_TYPE_FLOAT32, {3, 2}, {});
  *response.add_columns() = Column<float>("broken", v1::DATA_TYPE_FLOAT32, {3, 2}, {1});
  const std::string text = ItemText("t", inspections[0]);
  CAPTURE(text);
  CHECK(absl::StrContains(text,
                          "  pair: float32[3, 2], min -1, max 2.5, mean 0.5, checksum 0000000000001234\n"
                          "    -1  [0.1, 2]\n"
                          "    0   [2.5, -1]\n"
                          "    1   [0, 1]\n"
                          "  id: int64[3], min -1, max 2.5, mean 0.5, checksum 0000000000001234\n"
                          "    -1  7\n"
                          "    0   8\n"
                          "    1   9\n"
                          "  frame: uint8[3, 20], min -1, max 2.5, mean 0.5, checksum 0000000000001234\n"
                          "  away: float32[3, 2], min -1, max 2.5, mean 0.5, checksum 0000000000001234\n"
                          "  broken: a column whose data does not fit its shape\n"));
  const auto json = nlohmann::json::parse(InspectJson("t", {inspections[0]}));
  const auto& columns = json["servers"][0]["columns"];
  CHECK(columns[0]["values"].dump() == "[[0.1,2],[2.5,-1],[0,1]]");
  CHECK(columns[1]["values"].dump() == "[7,8,9]");
  CHECK(columns[2]["values"][2].size() == 20);
  CHECK(columns[3]["values"].is_null());
  CHECK(columns[4]["values"].is_null());
  CHECK(columns[0]["dtype"] == "float32");
}

TEST_CASE("A column without elements takes no memory, whatever its shape", "[unit]") {
  Inspections inspections = Sample();
  v1::InspectResponse& response = inspections[0].response;
  *response.add_columns() = Column<float>("empty", v1::DATA_TYPE_FLOAT32, {int64_t{1} << 37, 0}, {});
  CHECK(absl::StrContains(ItemText("t", inspections[0]), "empty: float32[137438953472, 0]"));
  const auto json = nlohmann::json::parse(InspectJson("t", {inspections[0]}));
  CHECK(json["servers"][0]["columns"][0]["values"].dump() == "[]");
}

TEST_CASE("The JSON has the contents of a table", "[unit]") {
  Inspections inspections = Sample();
  *inspections[0].response.add_columns() = Column<int64_t>("id", v1::DATA_TYPE_INT64, {3}, {7, 8, 9});
  testing::CheckGolden(InspectJson("t", inspections), "inspect.json");
}

}  // namespace
}  // namespace waggle
