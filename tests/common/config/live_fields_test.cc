#include "common/config/live_fields.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

struct InnerOptions {
  Schedule rate = Schedule::Linear(0.5, 0.1, Schedule::Clock::kEnvSteps, 1000);
  Schedule clip = Schedule::Through({{0, 0.5}, {0.5, 0.25}}, Schedule::Clock::kRun);
  std::optional<double> limit;

  void Visit(ConfigVisitor& visitor) {
    visitor.Schedule("rate", &rate, In(0, 1).Live());
    visitor.Schedule("clip", &clip, In(0, 1).Live());
    visitor.OptionalDouble("limit", &limit, In(0, 1).Live());
  }
  static absl::Status Validate() { return absl::OkStatus(); }
};

struct Options {
  int64_t steps = 3;
  int64_t delay = 4;
  double discount = 0.99;
  double weight = 1e-5;
  Schedule fixed = 0.5;
  Schedule plain = 0.25;
  InnerOptions inner;
  std::vector<InnerOptions> list = {InnerOptions()};

  void Visit(ConfigVisitor& visitor) {
    visitor.Int("steps", &steps, In(1, 10));
    visitor.Int("delay", &delay, In(1, 10).Live());
    visitor.Double("discount", &discount, In(0, 1));
    visitor.Double("weight", &weight, In(0, 1).Live());
    visitor.Schedule("fixed", &fixed, In(0, 1));
    visitor.Schedule("plain", &plain, Above(0, 1).Live());
    visitor.Section("inner", &inner);
    visitor.List("list", &list);
  }
};

TEST_CASE("the fields whose ranges are live are found with their values on one line", "[unit]") {
  Options options;
  LiveFields fields;
  options.Visit(fields);
  CHECK(fields.values() ==
        std::map<std::string, std::string>{
            {"delay", "4"},
            {"weight", "1e-05"},
            {"plain", "0.25"},
            {"inner.rate", "{from: 0.5, to: 0.1, shape: linear, of: env_steps, start: 0, until: 1000}"},
            {"inner.clip", "{points: [[0, 0.5], [0.5, 0.25]], of: run}"},
            {"inner.limit", "null"},
            {"list[0].rate", "{from: 0.5, to: 0.1, shape: linear, of: env_steps, start: 0, until: 1000}"},
            {"list[0].clip", "{points: [[0, 0.5], [0.5, 0.25]], of: run}"},
            {"list[0].limit", "null"}});
}

TEST_CASE("live fields that are numbers now come with their ranges", "[unit]") {
  Options options;
  options.inner.limit = 0.5;
  LiveFields fields;
  options.Visit(fields);
  std::vector<std::string> keys;
  for (const auto& [key, number] : fields.numbers()) {
    keys.push_back(key);
  }
  CHECK(keys == std::vector<std::string>{"delay", "inner.limit", "plain", "weight"});
  CHECK(fields.numbers().at("delay").value == 4);
  CHECK(fields.numbers().at("delay").is_whole);
  CHECK(fields.numbers().at("delay").range.high == 10);
  CHECK(fields.numbers().at("plain").value == 0.25);
  CHECK_FALSE(fields.numbers().at("plain").is_whole);
  CHECK(fields.numbers().at("plain").range.above);
}

}  // namespace
}  // namespace waggle
