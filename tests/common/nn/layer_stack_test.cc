#include "common/nn/layer_stack.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/config/plan/layer_planner.h"
#include "tests/support/catch.h"
#include "tests/support/finite_differences.h"
#include "tests/support/networks.h"

namespace waggle {
namespace {

using testing::Embedding;
using testing::Layer;
using testing::Mlp;
using testing::Residual;
using torch::Tensor;

struct Made {
  std::unique_ptr<FlatParameters> parameters;
  LayerStack stack;

  const Tensor& operator[](size_t index) const { return parameters->value_views()[index]; }
};

Made Make(const std::vector<int64_t>& shape, const std::vector<LayerSpec>& specs, std::optional<int64_t> members = {},
          const std::vector<int64_t>& num_values = {}, torch::ScalarType dtype = torch::kFloat64) {
  Made made;
  std::vector<ArraySpec> layout;
  std::vector<ArraySpec> statistics;
  std::vector<LayerPlan> layers;
  LayerPlanner planner(members, &layout, &statistics);
  planner.Begin(shape, num_values);
  for (size_t i = 0; i < specs.size(); ++i) {
    REQUIRE_OK(planner.Add(std::to_string(i), specs[i], &layers));
  }
  for (LayerPlan& layer : layers) {
    layer.statistics += layer.statistics >= 0 ? static_cast<int64_t>(layout.size()) : 0;
  }
  layout.insert(layout.end(), statistics.begin(), statistics.end());
  made.parameters =
      std::make_unique<FlatParameters>(testing::ValueOf(FlatParameters::Create(layout, torch::kCPU, dtype)));
  torch::manual_seed(5);
  made.parameters->values().normal_();
  made.stack = LayerStack(layers, members, true, made.parameters.get());
  return made;
}

TEST_CASE("a norm subtracts each row's mean, divides by its deviation, scales and shifts", "[unit]") {
  const Made made = Make({2, 3, 2}, {Layer("layer_norm", "tanh")});
  const Tensor input = torch::randn({4, 2, 3, 2}, torch::kFloat64);
  const Tensor output = made.stack(input);
  for (int64_t row = 0; row < 4; ++row) {
    const Tensor x = input[row];
    const Tensor variance = (x - x.mean()).square().mean();
    const Tensor wanted = ((x - x.mean()) / (variance + 1e-5).sqrt() * made[0] + made[1]).tanh();
    CHECK(torch::allclose(output[row], wanted));
  }
  // Each member has its own scale and shift, for a shared input or its own.
  const Made members = Make({3}, {Layer("layer_norm")}, 2);
  const Tensor shared = torch::randn({4, 3}, torch::kFloat64);
  const Tensor own = torch::randn({2, 4, 3}, torch::kFloat64);
  for (int64_t m = 0; m < 2; ++m) {
    CHECK(torch::allclose(members.stack(shared)[m], torch::layer_norm(shared, {3}) * members[0][m] + members[1][m]));
    CHECK(torch::allclose(members.stack(own)[m], torch::layer_norm(own[m], {3}) * members[0][m] + members[1][m]));
  }
}

LayerSpec BatchNorm(double rate, int64_t renorm_after = 100) {
  LayerSpec layer = Layer("batch_norm", "tanh");
  layer.rate = rate;
  layer.renorm_after = renorm_after;
  return layer;
}

// Statistics of a channel's numbers: the mean, and the mean square of what is beyond.
std::pair<double, double> Moments(const Tensor& x) {
  const double mean = x.mean().item<double>();
  return {mean, (x - mean).square().mean().item<double>()};
}

TEST_CASE("a batch norm of a training pass is by each channel's numbers in the batch, which the running ones follow",
          "[unit]") {
  const Made made = Make({2, 3}, {BatchNorm(0.25)});
  made[2].zero_();
  made[3].fill_(1);
  made[4].zero_();
  const Tensor input = torch::randn({4, 2, 3}, torch::kFloat64) * 3 + 1;
  const Tensor output = made.stack(input, ForwardPass::kTraining);
  CHECK(made[4].item<double>() == 0);
  made.stack.FollowBatch();
  const Tensor plain = made.stack(input);
  CHECK(made[4].item<double>() == 1);
  for (int64_t channel = 0; channel < 2; ++channel) {
    const Tensor x = input.select(1, channel);
    const auto [mean, variance] = Moments(x);
    const auto normal = [&](double center, double square) {
      return ((x - center) / std::sqrt(square + 1e-3) * made[0][channel] + made[1][channel]).tanh();
    };
    CHECK(torch::allclose(output.select(1, channel), normal(mean, variance)));
    const double running = made[2][channel].item<double>();
    const double square = made[3][channel].item<double>();
    CHECK(running == Approx(0.25 * mean));
    CHECK(square == Approx(0.75 + 0.25 * variance));
    CHECK(torch::allclose(plain.select(1, channel), normal(running, square)));
  }
  CHECK_THROWS_AS(made.stack.FollowBatch(), c10::Error);  // There is no other batch.
}

TEST_CASE("a batch norm's running statistics leave out a batch that overflows", "[unit]") {
  const Made made = Make({2}, {BatchNorm(0.25)});
  made[2].zero_();
  made[3].fill_(1);
  made[4].zero_();
  Tensor input = torch::randn({4, 2}, torch::kFloat64);
  input[1][0] = 1e300;
  made.stack(input, ForwardPass::kTraining);
  made.stack.FollowBatch();
  CHECK(made[2].eq(0).all().item<bool>());
  CHECK(made[3].eq(1).all().item<bool>());
  CHECK(made[4].item<double>() == 0);
}

TEST_CASE("batch renormalisation is by the running statistics, within bounds", "[unit]") {
  const Made made = Make({2}, {BatchNorm(0.5, /*renorm_after=*/1)}, 2);
  made[2].copy_(torch::tensor({{0.5, -40.0}, {1.0, 0.0}}));
  made[3].copy_(torch::tensor({{2.0, 1.0}, {0.5, 400.0}}));
  for (const double batches : {0.0, 1.0}) {
    for (const bool shared : {false, true}) {
      INFO(batches << " batches before, shared " << shared);
      const Tensor own = torch::randn({2, 6, 2}, torch::kFloat64);
      made[4].fill_(batches);
      const Tensor output = made.stack(shared ? own[0] : own, ForwardPass::kTraining);
      for (int64_t member = 0; member < 2; ++member) {
        for (int64_t i = 0; i < 2; ++i) {
          const Tensor x = own[shared ? 0 : member].select(1, i);
          const auto [center, square] = Moments(x);
          const double deviation = std::sqrt(made[3][member][i].item<double>() + 1e-3);
          const double r = batches < 1 ? 1 : std::clamp(std::sqrt(square + 1e-3) / deviation, 1 / 3.0, 3.0);
          const double d =
              batches < 1 ? 0 : std::clamp((center - made[2][member][i].item<double>()) / deviation, -5.0, 5.0);
          const Tensor normal = (x - center) / std::sqrt(square + 1e-3) * r + d;
          CHECK(
              torch::allclose(output[member].select(1, i), (normal * made[0][member][i] + made[1][member][i]).tanh()));
        }
      }
    }
  }
  const Tensor input = torch::randn({6, 2}, torch::kFloat64);
  made[2].zero_();
  made.stack(input, ForwardPass::kTraining);
  made.stack.FollowBatch();
  CHECK(torch::allclose(made[2], 0.5 * input.mean(0).expand({2, 2})));
}

TEST_CASE("gradients of a batch norm behind a dense layer are finite differences", "[unit]") {
  const Made made = Make({3}, {Mlp({4}, "tanh"), BatchNorm(0.1)}, 2);
  made[5].fill_(2);  // The variance.
  const Tensor input = torch::randn({2, 4, 3}, torch::kFloat64).requires_grad_();
  const Tensor factors = torch::randn({2, 4, 4}, torch::kFloat64);
  for (const ForwardPass pass : {ForwardPass::kPlain, ForwardPass::kTraining}) {
    const auto loss = [&] { return (made.stack(input, pass) * factors).sum().item<double>(); };
    made.parameters->gradients().zero_();
    input.mutable_grad() = torch::Tensor();
    (made.stack(input, pass) * factors).sum().backward();
    testing::CheckFiniteDifferences(input.detach(), input.grad(), loss);
    for (size_t i = 0; i < 4; ++i) {
      testing::CheckFiniteDifferences(made[i], made.parameters->gradient_views()[i], loss);
    }
  }
}

TEST_CASE("a residual adds its layers' output to the input", "[unit]") {
  const Made made = Make({3}, {Residual({4}, "tanh")});
  const Tensor input = torch::randn({5, 3}, torch::kFloat64);
  const Tensor wanted = input + torch::linear(torch::linear(input, made[0], made[1]).tanh(), made[2], made[3]);
  CHECK(torch::allclose(made.stack(input), wanted));
  CHECK(torch::allclose(made.stack(input, ForwardPass::kByAutograd), wanted));
  const Made members = Make({3}, {Residual({4}, "tanh")}, 2);
  const Tensor output = members.stack(input);
  REQUIRE(output.sizes().vec() == std::vector<int64_t>{2, 5, 3});
  for (int64_t m = 0; m < 2; ++m) {
    const Tensor hidden = torch::linear(input, members[0][m], members[1][m]).tanh();
    CHECK(torch::allclose(output[m], input + torch::linear(hidden, members[2][m], members[3][m])));
  }
}

TEST_CASE("choices become one-hot vectors, in the network's own element type", "[unit]") {
  const Made one = Make({}, {Layer("one_hot"), Mlp({2}, "none")}, {}, {3});
  const Tensor choices = torch::tensor({2, 0}, torch::kInt64);
  CHECK(torch::allclose(one.stack(choices),
                        torch::linear(torch::tensor({{0, 0, 1}, {1, 0, 0}}).to(torch::kFloat64), one[0], one[1])));
  const Made several = Make({2}, {Layer("one_hot")}, {}, {2, 3}, torch::kFloat32);
  CHECK(torch::equal(several.stack(torch::tensor({{1, 0}, {0, 2}}, torch::kInt64)),
                     torch::tensor({{0.0F, 1.0F, 1.0F, 0.0F, 0.0F}, {1.0F, 0.0F, 0.0F, 0.0F, 1.0F}})));
}

TEST_CASE("choices become learned vectors, each element's from weights of its own", "[unit]") {
  const Made made = Make({2}, {Embedding(3)}, {}, {2, 4});
  const Tensor output = made.stack(torch::tensor({{1, 0}, {0, 3}, {1, 0}}, torch::kInt64));
  CHECK(torch::equal(output[0], torch::cat({made[0][1], made[0][2]})));
  CHECK(torch::equal(output[1], torch::cat({made[0][0], made[0][5]})));
  output.sum().backward();
  CHECK(torch::equal(made.parameters->gradients().view({6, 3}).select(1, 0),
                     torch::tensor({1, 2, 2, 0, 0, 1}).to(torch::kFloat64)));
  const Made members = Make({}, {Embedding(3)}, 2, {4});
  const Tensor both = members.stack(torch::tensor({3, 1}, torch::kInt64));
  REQUIRE(both.sizes().vec() == std::vector<int64_t>{2, 2, 3});
  CHECK(torch::equal(both[1][0], members[0][1][3]));
  CHECK(torch::equal(both[0][1], members[0][0][1]));
}

TEST_CASE("flattening keeps rows and members apart", "[unit]") {
  const Made made = Make({2, 3}, {Layer("flatten")}, 2);
  const Tensor shared = torch::randn({4, 2, 3}, torch::kFloat64);
  CHECK(torch::equal(made.stack(shared), shared.reshape({4, 6})));
  const Tensor own = torch::randn({2, 4, 2, 3}, torch::kFloat64);
  CHECK(torch::equal(made.stack(own), own.reshape({2, 4, 6})));
}

}  // namespace
}  // namespace waggle
