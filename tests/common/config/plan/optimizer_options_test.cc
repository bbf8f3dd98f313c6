#include "common/config/plan/optimizer_options.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/config/field_checker.h"
#include "tests/support/config_text.h"

namespace waggle {
namespace {

std::string Printed(const OptimizerOptions& options) {
  return "\n" + testing::Printed(options);
}

TEST_CASE("the default weight decay is the type's own, and is printed", "[unit]") {
  OptimizerOptions options;
  CHECK(options.WeightDecay() == 0);
  CHECK(absl::StrContains(Printed(options), "\nweight_decay: 0\n"));
  options.type = "adamw";
  CHECK(options.WeightDecay() == 0.01);
  CHECK(absl::StrContains(Printed(options), "\nweight_decay: 0.01\n"));
  // Printing does not make it the user's choice.
  options.type = "sgd";
  CHECK(options.WeightDecay() == 0);
  options.type = "adamw";
  options.weight_decay = 0;
  CHECK(options.WeightDecay() == 0);
  CHECK(absl::StrContains(Printed(options), "\nweight_decay: 0\n"));
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
      OptimizerOptions options;
      REQUIRE_OK(testing::ReadFields(text, &options));
      CHECK(options.WeightDecay() == decay);
      text = Printed(options);
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

std::string Read(const std::string& text, OptimizerOptions* options) {
  return std::string(testing::ReadSection("optimizer", "optimizer: " + text, options).message());
}

TEST_CASE("keys that mean nothing to an optimizer's type are refused, even at their defaults", "[unit]") {
  OptimizerOptions options;
  CHECK(Read("{alpha: 0.5, momentum: 0}", &options) ==
        "x.yaml:1: optimizer.alpha: means nothing to adam; wanted none, or a type of rmsprop\n"
        "x.yaml:1: optimizer.momentum: means nothing to adam; wanted none, or a type of rmsprop, sgd");
  CHECK(Read("{centered: false}", &options) ==
        "x.yaml:1: optimizer.centered: means nothing to adam; wanted none, or a type of rmsprop");
  CHECK(Read("{type: rmsprop, momentum: 0.9, alpha: 0.5}", &options).empty());
  CHECK(Read("{type: rmsprop, amsgrad: true}", &options) ==
        "x.yaml:1: optimizer.amsgrad: means nothing to rmsprop; wanted none, or a type of adam, adamw");
  CHECK(Read("{type: sgd, beta1: 0.9, epsilon: 1e-8}", &options) ==
        "x.yaml:1: optimizer.beta1: means nothing to sgd; wanted none, or a type of adam, adamw\n"
        "x.yaml:1: optimizer.epsilon: means nothing to sgd; wanted none, or a type of adam, adamw, rmsprop");
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
  CHECK_THAT(Printed(options), !Catch::Contains("alpha") && !Catch::Contains("centered"));
}

}  // namespace
}  // namespace waggle
