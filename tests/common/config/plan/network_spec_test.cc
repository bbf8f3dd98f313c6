#include "common/config/plan/network_spec.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/config/field_checker.h"
#include "tests/support/config_text.h"
#include "tests/support/networks.h"

namespace waggle {
namespace {

using testing::Printed;
using testing::ReadFields;

TEST_CASE("every network's description is printed and read back as the same", "[unit]") {
  std::vector<testing::NetworkCase> cases = testing::NetworksWithoutMembers();
  for (testing::NetworkCase& network : testing::RecurrentNetworkCases()) {
    cases.push_back(std::move(network));
  }
  for (const testing::NetworkCase& network : cases) {
    INFO(network.name);
    REQUIRE_OK(Check(network.spec));
    const std::string printed = Printed(network.spec);
    NetworkSpec again;
    REQUIRE_OK(ReadFields(printed, &again));
    CHECK(Printed(again) == printed);
  }
}

TEST_CASE("a layer's default activation is printed", "[unit]") {
  NetworkSpec network;
  REQUIRE_OK(ReadFields("torso: [{type: layer_norm}, {type: conv}, {type: residual}, {type: mlp, activation: none}]",
                        &network));
  CHECK(network.torso[0].activation == "none");
  CHECK(network.torso[1].activation == "relu");
  CHECK(network.torso[2].activation == "relu");
  CHECK(network.torso[3].activation == "none");
}

TEST_CASE("values of a network that contradict each other are refused with the key", "[unit]") {
  constexpr std::pair<const char*, const char*> kWrong[] = {
      {"torso: [{type: lstm}]", "torso[0].type: "},
      {"torso: [{units: []}]", "torso[0].units: "},
      {"torso: [{units: [64, 0]}]", "torso[0].units[1]: "},
      {"encoders: {camera: [{type: conv, kernel: 1000}]}", "encoders.camera[0].kernel: "},
      {"core: {units: 64}", "core.units: "},  // The default.
      {"heads: {policy: {initial_std: 0}}", "heads.policy.initial_std: "},
      {"heads: {policy: {min_log_std: 3}}", "heads.policy.min_log_std: "},
      {"heads: {policy: {gain: 2}}", "heads.policy.gain: "}};
  for (const auto& [yaml, key] : kWrong) {
    INFO(yaml);
    NetworkSpec network;
    const absl::Status status = ReadFields(yaml, &network);
    REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(status.message()), Catch::Contains(key));
  }
}

TEST_CASE("keys that mean nothing to a layer's type are refused, even at their defaults", "[unit]") {
  const std::map<std::string, std::vector<std::string>> meaningful = {
      {"mlp", {"units", "activation", "initialization", "gain"}},
      {"conv", {"channels", "kernel", "stride", "padding", "activation", "initialization", "gain"}},
      {"flatten", {}},
      {"layer_norm", {"activation"}},
      {"batch_norm", {"rate", "renorm_after", "activation"}},
      {"residual", {"units", "activation", "initialization", "gain"}},
      {"embedding", {"dimensions"}},
      {"one_hot", {}}};
  const std::map<std::string, std::string> values = {
      {"units", "[64, 64]"}, {"channels", "32"},   {"kernel", "3"},           {"stride", "1"},
      {"padding", "0"},      {"dimensions", "16"}, {"activation", "none"},    {"initialization", "default"},
      {"gain", "2"},         {"rate", "0.01"},     {"renorm_after", "100000"}};
  for (const auto& [type, keys] : meaningful) {
    for (const auto& [key, value] : values) {
      const std::string given = key == "gain" ? "initialization: orthogonal, gain: 2" : key + ": " + value;
      INFO(type << " " << given);
      NetworkSpec network;
      const absl::Status status = ReadFields("torso: [{type: " + type + ", " + given + "}]", &network);
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
        CHECK(status == absl::OkStatus());
      } else {
        const std::string named = key == "gain" ? "initialization" : key;
        CHECK_THAT(
            std::string(status.message()),
            Catch::Contains("torso[0]." + named + ": means nothing to the layer " + type + "; wanted none, or a"));
      }
    }
  }
}

TEST_CASE("keys that mean nothing to a normaliser's average are refused", "[unit]") {
  const std::map<std::string, std::string> meaningful = {
      {"window", "window: 1000"}, {"exponential", "rate: 0.001"}, {"adaptive", "speed: 8"}};
  for (const char* const average : {"all", "window", "exponential", "adaptive"}) {
    for (const auto& [owner, given] : meaningful) {
      INFO(average << " " << given);
      NetworkSpec network;
      const absl::Status status = ReadFields(
          "normalize_observations: true\nnormalizer: {average: " + std::string(average) + ", " + given + "}", &network);
      if (owner == average) {
        CHECK(status == absl::OkStatus());
      } else {
        CHECK_THAT(std::string(status.message()),
                   Catch::Contains("normalizer." + given.substr(0, given.find(':')) +
                                   ": means nothing to the average " + average + "; wanted none, or " + owner));
      }
    }
  }
  NetworkSpec network;
  CHECK_THAT(std::string(ReadFields("normalizer: {average: window}", &network).message()),
             Catch::Contains("normalizer: means nothing without normalize_observations"));
}

// The blocks of YAML in the page on networks.
std::vector<std::string> YamlBlocks() {
  std::ifstream file(std::string(WAGGLE_TEST_DOCS_DIR) + "/networks.md");
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("```", 0) == 0) {
      inside = line == "```yaml";
      if (inside) {
        blocks.emplace_back();
      }
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

// The text before the page's blocks.
struct Page {
  NetworkSpec network;
  std::map<std::string, NetworkSpec> networks;
  std::vector<LayerSpec> layers;

  void Visit(ConfigVisitor& visitor) {
    visitor.Section("network", &network);
    visitor.Map("networks", &networks);
    visitor.List("layers", &layers);
  }
};

Page PageOf(const std::string& block) {
  Page page;
  REQUIRE_OK(ReadFields(block, &page));
  return page;
}

TEST_CASE("the page on networks lists every key and type with their defaults", "[unit]") {
  const std::vector<std::string> blocks = YamlBlocks();
  REQUIRE(blocks.size() == 7);
  NetworkSpec written = PageOf(blocks[0]).networks.at("q");
  HeadSpec head;
  head.type = "q";
  CHECK(Printed(written.heads.at("q")) == Printed(head));
  CHECK(written.encoders.at("camera").empty());
  written.heads.clear();
  written.encoders.clear();
  CHECK(Printed(written) == Printed(NetworkSpec()));
  std::istringstream keys(Printed(head));
  for (std::string line; std::getline(keys, line);) {
    INFO(line);
    CHECK_THAT(blocks[0], Catch::Contains(" " + line.substr(0, line.find(':') + 1)));
  }

  std::vector<std::string> types;
  for (const LayerSpec& layer : PageOf(blocks[3]).layers) {
    LayerSpec defaults;
    defaults.type = layer.type;
    CHECK(Printed(layer) == Printed(defaults));
    types.push_back(layer.type);
  }
  CHECK(types == std::vector<std::string>{"mlp", "conv", "flatten", "layer_norm", "batch_norm", "residual", "embedding",
                                          "one_hot", "ignore"});
  for (const char* key : {"units", "channels", "kernel", "stride", "padding", "dimensions", "rate", "renorm_after",
                          "activation", "initialization", "gain"}) {
    CHECK_THAT(blocks[3], Catch::Contains(std::string(" ") + key + ":"));
  }
}

TEST_CASE("the examples of the page on networks are planned", "[unit]") {
  const std::vector<SpaceLeaf> camera = {Box("observation/camera", DType::kUint8, {3, 84, 84}),
                                         Box("observation/vector", DType::kFloat32, {12}),
                                         Discrete("observation/gear", 5)};
  const SpaceLeaf discrete = Discrete("action", 4);
  const SpaceLeaf real = Box("action", DType::kFloat32, {3});
  const NetworkNeed q{"q", {{"q", HeadKind::kQ}}};
  NetworkNeed critic{"critic", {{"q", HeadKind::kValue}}};
  critic.takes_action = true;
  critic.members = 2;
  const auto names = [](const NetworkNeed& need, const NetworkSpec& network, const EnvironmentSpec& environment) {
    return DebugString(testing::ValueOf(PlanNetwork(need, network, environment)).parameters);
  };
  using Catch::Contains;
  const std::vector<std::string> blocks = YamlBlocks();
  REQUIRE(blocks.size() == 7);
  CHECK_THAT(names(q, PageOf(blocks[1]).network, testing::Environment({testing::Vector(4)}, discrete)),
             Contains("heads.q.advantage.linear1.weight: float32[64, 128]"));
  CHECK_THAT(names(q, PageOf(blocks[2]).networks.at("q"), testing::Environment(camera, discrete)),
             Contains("torso.0.linear1.weight: float32[256, 276]") && Contains("encoders.gear.0.embedding.weight"));
  const NetworkNeed actor_critic{"actor_critic", {{"policy", HeadKind::kNormal}, {"value", HeadKind::kValue}}};
  CHECK_THAT(names(actor_critic, PageOf(blocks[5]).networks.at("actor_critic"),
                   testing::Environment({testing::Vector(4)}, real)),
             Contains("heads.policy.log_std: float32[3]") && Contains("heads.value.torso.0.linear1.weight"));
  const Page sac = PageOf(blocks[6]);
  CHECK_THAT(names({"actor", {{"policy", HeadKind::kTanhNormal}}}, sac.networks.at("actor"),
                   testing::Environment({testing::Vector(4)}, real)),
             Contains("heads.policy.output.weight: float32[6, 256]"));
  CHECK_THAT(names(critic, sac.networks.at("critic"), testing::Environment({testing::Vector(4)}, real)),
             Contains("encoders.action.0.linear1.weight: float32[2, 32, 3]") &&
                 Contains("torso.0.linear1.weight: float32[2, 256, 36]"));
  CHECK_THAT(names(q, PageOf(blocks[4]).networks.at("q"), testing::Environment({testing::Vector(4)}, discrete)),
             Contains("core.weight_ih_l0: float32[512, 64], core.weight_hh_l0: float32[512, 128]"));
}

}  // namespace
}  // namespace waggle
