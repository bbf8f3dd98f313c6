#include "common/config/config_visitor.h"

#include "absl/strings/str_cat.h"
#include "common/config/config_writer.h"
#include "tests/common/config/sample_options.h"
#include "tests/support/config_text.h"

namespace waggle {
namespace {

using ::waggle::testing::LayerOptions;

// Names that a user chooses, and schedules.
struct RunOptions {
  Schedule clip = 0.2;
  Schedule rate = Schedule::Linear(1, 0.5);
  std::map<std::string, LayerOptions> layers;
  std::map<std::string, std::vector<LayerOptions>> stacks;

  void Visit(ConfigVisitor& visitor) {
    visitor.Schedule("clip", &clip, Above(0, 1));
    visitor.Schedule("rate", &rate, In(0, 1));
    visitor.Map("layers", &layers);
    visitor.MapOfLists("stacks", &stacks);
  }
  static absl::Status Validate() { return absl::OkStatus(); }
};

absl::Status Read(const std::string& text, RunOptions* options) {
  return testing::ReadSection("run", "run: " + text, options);
}

RunOptions Parsed(const std::string& text) {
  RunOptions options;
  REQUIRE_OK(Read(text, &options));
  return options;
}

std::string Refusal(const std::string& text) {
  RunOptions options;
  const absl::Status status = Read(text, &options);
  CHECK(absl::IsInvalidArgument(status));
  return std::string(status.message());
}

TEST_CASE("a schedule is read as a number or as a section", "[unit]") {
  CHECK(Parsed("{clip: 0.5}").clip == Schedule(0.5));
  CHECK(Parsed("{clip: {from: 0.5, to: 0.1}}").clip == Schedule::Linear(0.5, 0.1));
  const RunOptions options = Parsed("{rate: {from: 1, to: 0.1, shape: cosine, of: env_steps, start: 5, until: 100}}");
  CHECK(options.rate.shape == Schedule::Shape::kCosine);
  CHECK(options.rate.of == Schedule::Clock::kEnvSteps);
  CHECK(options.rate.start == 5);
  CHECK(options.rate.until == 100);
  // Omitted keys keep their values: the ends of a schedule that moves by default, and all of an absent one.
  CHECK(Parsed("{rate: {until: 0.5}}").rate == Schedule::Linear(1, 0.5, Schedule::Clock::kRun, 0.5));
  CHECK(Parsed("{}").rate == Schedule::Linear(1, 0.5));
  CHECK(Parsed("{rate: 0.25}").rate == Schedule(0.25));
}

TEST_CASE("a schedule is read and written by its points", "[unit]") {
  RunOptions options = Parsed(
      "{clip: {points: [[0, 0.5], [1e5, 0.1], [200000, 0.2]], of: env_steps}, rate: {points: "
      "[[0, 1], [0.5, 0.1]]}}");
  CHECK(options.clip == Schedule::Through({{0, 0.5}, {100'000, 0.1}, {200'000, 0.2}}, Schedule::Clock::kEnvSteps));
  CHECK(options.rate == Schedule::Through({{0, 1}, {0.5, 0.1}}, Schedule::Clock::kRun));
  ConfigWriter writer;
  writer.Section("run", &options);
  CHECK_THAT(writer.text(), Catch::Contains("  clip:\n    points: [[0, 0.5], [100000, 0.1], [200000, 0.2]]\n    of: "
                                            "env_steps\n  rate:"));
  RunOptions again;
  REQUIRE_OK(testing::ReadSection("run", writer.text(), &again));
  CHECK(again.clip == options.clip);
  CHECK(again.rate == options.rate);
  // A schedule of another form takes its place.
  RunOptions replaced = options;
  REQUIRE_OK(Read("{clip: 0.5, rate: {from: 1, to: 0.5}}", &replaced));
  CHECK(replaced.clip == Schedule(0.5));
  CHECK(replaced.rate == Schedule::Linear(1, 0.5));
}

TEST_CASE("wrong points are refused at their place", "[unit]") {
  CHECK_THAT(Refusal("{clip: {points: [[0, 0.5], [1, 2]]}}"),
             Catch::Contains("run.clip.points[1][1]: got the number 2; wanted a number in (0, 1]"));
  CHECK_THAT(Refusal("{clip: {points: [[-1, 0.5], [1, 1]]}}"),
             Catch::Contains("run.clip.points[0][0]: got the number"));
  CHECK_THAT(Refusal("{clip: {points: [[0, 0.5], [1]]}}"),
             Catch::Contains("run.clip.points[1]: got a list; wanted two numbers, [CLOCK, VALUE]"));
  CHECK_THAT(Refusal("{clip: {points: 3}}"), Catch::Contains("run.clip.points: got the number 3; wanted a list of"));
  CHECK_THAT(Refusal("{clip: {points: []}}"), Catch::Contains("run.clip.points: got none; wanted two or more"));
  CHECK_THAT(Refusal("{clip: {points: [[0.5, 0.5], [0.25, 1]]}}"),
             Catch::Contains("run.clip.points[1]: got the position 0.25 after 0.5; wanted a larger one"));
  CHECK_THAT(Refusal("{clip: {points: [[0, 0.5], [1, 1]], to: 0.5}}"),
             Catch::Contains("run.clip.to: means nothing beside points; wanted none"));
}

TEST_CASE("a schedule that is out of range or contradicts itself is refused at its place", "[unit]") {
  CHECK(Refusal("{clip: 0}").find("run.clip: got the number 0; wanted a number in (0, 1]") != std::string::npos);
  CHECK(Refusal("{clip: {from: 0.5, to: 2}}").find("run.clip.to: got the number 2") != std::string::npos);
  CHECK(Refusal("{clip: {from: 0.5}}").find("run.clip.to: is missing") != std::string::npos);
  CHECK(Refusal("{clip: {from: 0.5, to: 0.1, until: 2}}").find("run.clip.until: ") != std::string::npos);
  CHECK(Refusal("{clip: {from: 0.5, to: 0.1, of: walltime}}").find("run.clip.of: ") != std::string::npos);
  CHECK(Refusal("{clip: {form: 0.5, to: 0.1}}").find("did you mean \"from\"?") != std::string::npos);
  CHECK(Refusal("{clip: [1]}").find("run.clip: got a list") != std::string::npos);
}

TEST_CASE("a schedule is one known key, however it is written", "[unit]") {
  for (const char* const clip : {"", ", clip: 0.5", ", clip: {from: 0.5, to: 0.1}"}) {
    CHECK_THAT(Refusal(absl::StrCat("{zzzzzz: 1", clip, "}")), Catch::EndsWith("known: clip, rate, layers, stacks"));
  }
}

TEST_CASE("a user's names get their sections and lists", "[unit]") {
  const RunOptions options = Parsed("{layers: {a: {units: [1]}, b: {type: conv}}, stacks: {c: [], d: [{units: [2]}]}}");
  CHECK(options.layers.size() == 2);
  CHECK(options.layers.at("a").units == std::vector<int64_t>{1});
  CHECK(options.layers.at("b").type == "conv");
  CHECK(options.stacks.at("c").empty());
  CHECK(options.stacks.at("d").at(0).units == std::vector<int64_t>{2});
}

TEST_CASE("a section that is read overrides the entry of its name, and the others stay", "[unit]") {
  RunOptions options;
  options.layers["a"].units = {3};
  options.layers["b"].units = {4};
  REQUIRE_OK(Read("{layers: {a: {type: conv}}}", &options));
  CHECK(options.layers.at("a").type == "conv");
  CHECK(options.layers.at("a").units == std::vector<int64_t>{3});
  CHECK(options.layers.at("b").units == std::vector<int64_t>{4});
}

TEST_CASE("an error in a user's section gives its name, and names given twice are refused", "[unit]") {
  CHECK(Refusal("{layers: {a: {unit: [1]}}}").find("run.layers.a.unit: unknown key") != std::string::npos);
  CHECK(Refusal("{layers: {a: {units: []}}}").find("run.layers.a.units: ") != std::string::npos);
  CHECK(Refusal("{layers: {a: 3}}").find("run.layers.a: got the number 3") != std::string::npos);
  CHECK(Refusal("{layers: {a: {}, a: {}}}").find("given twice") != std::string::npos);
  CHECK(Refusal("{stacks: {a: {}}}").find("run.stacks.a: got a mapping; wanted a list") != std::string::npos);
  CHECK(Refusal("{layers: [1]}").find("run.layers: got a list") != std::string::npos);
}

TEST_CASE("maps and schedules that are written read back as the same", "[unit]") {
  RunOptions options = Parsed(
      "{clip: {from: 0.1, to: 0.7, shape: exponential, of: learner_steps, until: 1000}, rate: 0.3, "
      "layers: {a: {type: conv}, b: {}}, stacks: {c: [], d: [{units: [2]}, {}]}}");
  ConfigWriter writer;
  writer.Section("run", &options);
  RunOptions again;
  REQUIRE_OK(testing::ReadSection("run", writer.text(), &again));
  CHECK(again.clip == options.clip);
  CHECK(again.rate == options.rate);
  ConfigWriter second;
  second.Section("run", &again);
  CHECK(second.text() == writer.text());
}

}  // namespace
}  // namespace waggle
