#include "common/rl/target_update.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

FlatParameters Filled(float value) {
  FlatParameters parameters =
      testing::ValueOf(FlatParameters::Create({ArraySpec{"weight", DType::kFloat32, {3}}}, torch::kCPU));
  parameters.values().fill_(value);
  return parameters;
}

TEST_CASE("a soft update takes over a share of the online network each time", "[unit]") {
  const FlatParameters online = Filled(1);
  FlatParameters target = Filled(0);
  TargetUpdate update = TargetUpdate::Soft(0.25);
  update.Follow(online, &target);
  CHECK(torch::allclose(target.values(), torch::full({3}, 0.25F)));
  update.Follow(online, &target);
  CHECK(torch::allclose(target.values(), torch::full({3}, 0.4375F)));
  CHECK(torch::equal(online.values(), torch::ones({3})));
}

TEST_CASE("a periodic update copies at every so many-th step and else does nothing", "[unit]") {
  const FlatParameters online = Filled(1);
  FlatParameters target = Filled(0);
  TargetUpdate update = TargetUpdate::Periodic(3);
  for (int step = 1; step <= 7; ++step) {
    target.values().zero_();
    update.Follow(online, &target);
    CHECK(target.values().sum().item<float>() == (step % 3 == 0 ? 3 : 0));
  }
}

}  // namespace
}  // namespace waggle
