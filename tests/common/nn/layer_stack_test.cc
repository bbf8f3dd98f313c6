#include "common/nn/layer_stack.h"

#include <memory>
#include <string>
#include <vector>

#include "common/config/plan/layer_planner.h"
#include "tests/support/catch.h"
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
  std::vector<LayerPlan> layers;
  LayerPlanner planner(members, &layout);
  planner.Begin(shape, num_values);
  for (size_t i = 0; i < specs.size(); ++i) {
    REQUIRE_OK(planner.Add(std::to_string(i), specs[i], &layers));
  }
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

TEST_CASE("a residual adds its layers' output to the input", "[unit]") {
  const Made made = Make({3}, {Residual({4}, "tanh")});
  const Tensor input = torch::randn({5, 3}, torch::kFloat64);
  const Tensor wanted = input + torch::linear(torch::linear(input, made[0], made[1]).tanh(), made[2], made[3]);
  CHECK(torch::allclose(made.stack(input), wanted));
  CHECK(torch::allclose(made.stack(input, /*by_autograd=*/true), wanted));
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
