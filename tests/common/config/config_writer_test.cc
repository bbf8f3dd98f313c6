#include "common/config/config_writer.h"

#include "tests/common/config/sample_options.h"
#include "tests/support/config_text.h"

namespace waggle {
namespace {

using ::waggle::testing::TrainOptions;

std::string Write(TrainOptions options) {
  ConfigWriter writer;
  writer.Section("train", &options);
  return writer.text();
}

TEST_CASE("Every value is printed", "[unit]") {
  TrainOptions options;
  options.mode = "double";
  options.layers.emplace_back();
  options.layers.back().units = {};
  CHECK(Write(options) ==
        "train:\n"
        "  batch_size: 128\n"
        "  learning_rate: 0.001\n"
        "  target: null\n"
        "  clip: true\n"
        "  name: run\n"
        "  mode: double\n"
        "  layers:\n"
        "    - type: mlp\n"
        "      units: [64, 64]\n"
        "    - type: mlp\n"
        "      units: []\n");
  options.layers.clear();
  CHECK(Write(options).find("  layers: []\n") != std::string::npos);
}

TEST_CASE("Printed values read back as the same, to the last bit", "[unit]") {
  TrainOptions options;
  options.batch_size = 2;
  options.learning_rate = 1.0 / 3;
  options.target = -1e-300;
  options.clip = false;
  options.name = "quotes \" \\ : # {} \n\t\x01 yes";
  options.mode = "vanilla";
  options.layers[0].type = "conv";
  options.layers[0].units = {1, 4096};
  TrainOptions read;
  REQUIRE_OK(testing::ReadSection("train", Write(options), &read));
  CHECK(read.batch_size == 2);
  CHECK(read.learning_rate == options.learning_rate);
  CHECK(read.target == options.target);
  CHECK_FALSE(read.clip);
  CHECK(read.name == options.name);
  CHECK(read.mode == "vanilla");
  REQUIRE(read.layers.size() == 1);
  CHECK(read.layers[0].type == "conv");
  CHECK(read.layers[0].units == options.layers[0].units);
}

}  // namespace
}  // namespace waggle
