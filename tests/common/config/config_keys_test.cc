#include "common/config/config_keys.h"

#include "tests/common/config/sample_options.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

struct Outer {
  testing::TrainOptions train;
  bool last = false;

  void Visit(ConfigVisitor& visitor) {
    visitor.Section("train", &train);
    visitor.Bool("last", &last);
  }
};

TEST_CASE("Every key is listed by its path, in the order of the visit", "[unit]") {
  Outer outer;
  ConfigKeys keys;
  outer.Visit(keys);
  CHECK(keys.paths() == std::vector<std::string>{"train.batch_size", "train.learning_rate", "train.target",
                                                 "train.clip", "train.name", "train.mode", "train.layers", "last"});
}

}  // namespace
}  // namespace waggle
