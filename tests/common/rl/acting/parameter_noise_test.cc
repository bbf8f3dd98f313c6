#include "common/rl/acting/parameter_noise.h"

#include "tests/support/catch.h"
#include "tests/support/network_inputs.h"

namespace waggle {
namespace {

struct Fixture {
  explicit Fixture(HeadKind kind) {
    network_case.need.name = "net";
    network_case.need.heads = {{"head", kind}};
    network_case.spec.torso = {testing::Mlp({8}, "tanh")};
    network_case.environment =
        testing::Environment({testing::Vector(3)},
                             kind == HeadKind::kQ ? Discrete("action", 4) : Box("action", DType::kFloat32, {2}, -1, 1));
    options.type = "parameter_noise";
    options.parameter_steps = 3;
    options.parameter_factor = 2;
    clean = testing::Build(network_case);
  }
  ParameterNoise Make() {
    return ParameterNoise(options, clean.get(), testing::Build(network_case), &clean->plan().heads[0]);
  }

  testing::NetworkCase network_case;
  ExplorationOptions options;
  std::unique_ptr<Network> clean;
  Noise noise{7, torch::kCPU};
  const Observations rows = {torch::ones({5, 3})};
};

TEST_CASE("noise in parameters stays for a number of steps, also with new weights", "[unit]") {
  Fixture f(HeadKind::kDeterministic);
  ParameterNoise noise = f.Make();
  const auto difference = [&] {
    return (noise.Next(f.rows, &f.noise).parameters().values() - f.clean->parameters().values()).clone();
  };
  const torch::Tensor first = difference();
  CHECK(first.std().item<double>() == Approx(0.1).margin(0.03));
  const torch::NoGradGuard no_grad;
  torch::Tensor values = f.clean->parameters().values();
  values.mul_(0.5);
  noise.FollowClean();
  CHECK(torch::allclose(difference(), first, 1e-4, 1e-6));
  CHECK(torch::allclose(difference(), first, 1e-4, 1e-6));
  CHECK_FALSE(torch::allclose(difference(), first, 1e-2, 1e-3));
}

TEST_CASE("the deviation follows the distance of noisy from clean actions", "[unit]") {
  for (const HeadKind kind : {HeadKind::kDeterministic, HeadKind::kQ}) {
    Fixture f(kind);
    const torch::NoGradGuard no_grad;
    f.options.parameter_distance = 10;  // More than any.
    ParameterNoise grows = f.Make();
    f.options.parameter_distance = 1e-9;  // Less than any.
    ParameterNoise shrinks = f.Make();
    for (int step = 0; step < 7; ++step) {  // Draws at steps 0, 3 and 6.
      grows.Next(f.rows, &f.noise);
      shrinks.Next(f.rows, &f.noise);
    }
    CHECK(grows.deviation() == Approx(0.4));
    CHECK(shrinks.deviation() == Approx(0.025));
  }
}

}  // namespace
}  // namespace waggle
