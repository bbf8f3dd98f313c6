#include "cli/replay/inspect_report.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "tests/cli/golden_json.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

v1::HistogramBucket Bucket(double low, double high, uint64_t count) {
  v1::HistogramBucket bucket;
  bucket.set_low(low);
  bucket.set_high(high);
  bucket.set_count(count);
  return bucket;
}

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
  v1::InspectResponse& response = inspections[0].response;
  response.set_table_items(300);
  v1::ItemStatistics* statistics = response.mutable_statistics();
  statistics->set_items(300);
  statistics->set_rows(600);
  statistics->set_min_policy_version(10);
  statistics->set_max_policy_version(90);
  statistics->set_mean_policy_version(45.5);
  statistics->set_max_priority(3);
  statistics->set_mean_priority(0.75);
  *statistics->add_priorities() = Bucket(0, 0, 100);
  *statistics->add_priorities() = Bucket(0.5, 1, 200);
  *statistics->add_times_sampled() = Bucket(0, 0, 1);
  *statistics->add_times_sampled() = Bucket(1, 2, 200);
  *statistics->add_times_sampled() = Bucket(2, 4, 99);
  v1::InspectedItem* item = response.add_items();
  item->set_key(17);
  item->set_generation(1234);
  item->set_age_inserts(5);
  item->set_age_seconds(75);
  item->set_priority(0.75);
  item->set_probability(0.0025);
  item->set_times_sampled(3);
  item->set_policy_version(42);
  item->set_rows(2);
  item->set_context_rows(1);
  item->set_producer("actor-1");
  response.add_items()->set_key(18);
  response.add_unknown_keys(99);
  response.set_next_page_token("n-11-4d2-0");
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
    *statistics->add_priorities() = Bucket(i, i + 1, 10);
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
