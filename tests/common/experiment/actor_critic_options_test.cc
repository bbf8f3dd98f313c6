#include "common/experiment/actor_critic_options.h"

#include "common/config/config_reader.h"
#include "common/config/yaml_file.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

std::string Problems(const std::string& text, ActorCriticOptions* options) {
  const YamlNode root = testing::ValueOf(ParseYaml("algorithm: " + text, "x.yaml"));
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  reader.Section("algorithm", options);
  reader.Finish();
  return std::string(errors.ToStatus().message());
}

TEST_CASE("an actor-critic's options are read, and their ranges hold", "[unit]") {
  ActorCriticOptions options;
  CHECK(Problems("{unroll: 5, discount: 0.9, lambda: 1, value_weight: 0.25, normalize_returns: false, "
                 "normalize_advantages: false, entropy: {weight: 0.02}, optimizer: {learning_rate: 0.1}}",
                 &options)
            .empty());
  CHECK(options.unroll == 5);
  CHECK(options.discount == 0.9);
  CHECK(options.lambda == 1);
  CHECK(options.value_weight == 0.25);
  CHECK_FALSE(options.normalize_returns);
  CHECK_FALSE(options.normalize_advantages);
  CHECK(options.entropy.weight == Schedule(0.02));
  CHECK(options.optimizer.learning_rate == Schedule(0.1));
  for (const char* const wrong : {"{unroll: 0}", "{discount: 1.1}", "{lambda: -0.1}", "{value_weight: -1}"}) {
    CHECK_FALSE(Problems(wrong, &options).empty());
  }
}

}  // namespace
}  // namespace waggle
