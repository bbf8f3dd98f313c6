#include "common/plan/optimizer_options.h"

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/config/config_reader.h"
#include "common/config/config_writer.h"
#include "common/config/field_checker.h"
#include "common/config/yaml_file.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("the defaults of an optimizer are valid", "[unit]") {
  REQUIRE_OK(Check(OptimizerOptions()));
}

std::string Printed(OptimizerOptions* options) {
  ConfigWriter writer;
  options->Visit(writer);
  return "\n" + writer.text();
}

TEST_CASE("the default weight decay is the type's own, and is printed", "[unit]") {
  OptimizerOptions options;
  CHECK(options.WeightDecay() == 0);
  CHECK(absl::StrContains(Printed(&options), "\nweight_decay: 0\n"));
  options.type = "adamw";
  CHECK(options.WeightDecay() == 0.01);
  CHECK(absl::StrContains(Printed(&options), "\nweight_decay: 0.01\n"));
  // Printing does not make it the user's choice.
  options.type = "sgd";
  CHECK(options.WeightDecay() == 0);
  options.type = "adamw";
  options.weight_decay = 0;
  CHECK(options.WeightDecay() == 0);
  CHECK(absl::StrContains(Printed(&options), "\nweight_decay: 0\n"));
  REQUIRE_OK(Check(options));
  options.weight_decay = 11;
  CHECK(absl::StrContains(Check(options).message(), "weight_decay: got the number 11;"));
}

TEST_CASE("a given weight decay holds, in any order of the keys, and is printed", "[unit]") {
  for (const auto& [yaml, decay] :
       std::vector<std::pair<std::string, double>>{{"{type: adamw}", 0.01},
                                                   {"{weight_decay: 0, type: adamw}", 0},
                                                   {"{type: adamw, weight_decay: 0.2}", 0.2},
                                                   {"{weight_decay: 0.01}", 0.01},
                                                   {"{type: rmsprop}", 0}}) {
    CAPTURE(yaml);
    std::string text = yaml;
    for (int again = 0; again < 2; ++again) {
      const YamlNode root = testing::ValueOf(ParseYaml(text, "optimizer.yaml"));
      ConfigErrors errors;
      ConfigReader reader(root, &errors);
      OptimizerOptions options;
      options.Visit(reader);
      reader.Finish();
      REQUIRE_OK(errors.ToStatus());
      CHECK(options.WeightDecay() == decay);
      text = Printed(&options);
    }
  }
}

TEST_CASE("centered and amsgrad cost an optimizer one more array", "[unit]") {
  OptimizerOptions options;
  CHECK(options.StateArrays() == 2);
  options.amsgrad = true;
  CHECK(options.StateArrays() == 3);
  options = OptimizerOptions();
  options.type = "rmsprop";
  CHECK(options.StateArrays() == 2);
  options.centered = true;
  CHECK(options.StateArrays() == 3);
  options = OptimizerOptions();
  options.type = "sgd";
  CHECK(options.StateArrays() == 1);
}

TEST_CASE("every wrong value of an optimizer is named, one a line", "[unit]") {
  OptimizerOptions options;
  options.type = "adamw";
  options.learning_rate = -1;
  options.beta2 = 1;
  options.gradient_clip_norm = std::numeric_limits<double>::quiet_NaN();
  const absl::Status status = Check(options);
  CHECK(absl::IsInvalidArgument(status));
  for (const char* key : {"learning_rate: got the number -1;", "beta2: got the number 1;", "gradient_clip_norm: "}) {
    CHECK(status.message().find(key) != std::string::npos);
  }
  options.type = "adamax";
  CHECK_THAT(std::string(Check(options).message()), Catch::StartsWith("type: got \"adamax\""));
}

std::string Read(const std::string& text, OptimizerOptions* options) {
  const YamlNode root = testing::ValueOf(ParseYaml("optimizer: " + text, "x"));
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  reader.Section("optimizer", options);
  reader.Finish();
  return std::string(errors.ToStatus().message());
}

TEST_CASE("keys that mean nothing to an optimizer's type are refused, even at their defaults", "[unit]") {
  OptimizerOptions options;
  CHECK(Read("{alpha: 0.5, momentum: 0}", &options) ==
        "x:1: optimizer.alpha: means nothing to adam; wanted none, or a type of rmsprop\n"
        "x:1: optimizer.momentum: means nothing to adam; wanted none, or a type of rmsprop, sgd");
  CHECK(Read("{centered: false}", &options) ==
        "x:1: optimizer.centered: means nothing to adam; wanted none, or a type of rmsprop");
  CHECK(Read("{type: rmsprop, momentum: 0.9, alpha: 0.5}", &options).empty());
  CHECK(Read("{type: rmsprop, amsgrad: true}", &options) ==
        "x:1: optimizer.amsgrad: means nothing to rmsprop; wanted none, or a type of adam, adamw");
  CHECK(Read("{type: sgd, beta1: 0.9, epsilon: 1e-8}", &options) ==
        "x:1: optimizer.beta1: means nothing to sgd; wanted none, or a type of adam, adamw\n"
        "x:1: optimizer.epsilon: means nothing to sgd; wanted none, or a type of adam, adamw, rmsprop");
}

TEST_CASE("an algorithm's default for a key that means nothing to the chosen type is ignored", "[unit]") {
  OptimizerOptions options;
  options.type = "rmsprop";
  options.epsilon = 1e-5;
  options.alpha = 0.9;
  options.centered = true;
  CHECK(options.StateArrays() == 3);
  CHECK(Read("{type: adam}", &options).empty());
  CHECK(options.epsilon == 1e-5);
  CHECK(options.StateArrays() == 2);
  ConfigWriter writer;
  options.Visit(writer);
  CHECK_THAT(writer.text(), !Catch::Contains("alpha") && !Catch::Contains("centered"));
}

}  // namespace
}  // namespace waggle
