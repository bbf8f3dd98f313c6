#include "common/nn/chain.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "common/config/plan/layer_planner.h"
#include "common/nn/activations.h"
#include "tests/support/catch.h"
#include "tests/support/networks.h"

namespace waggle {
namespace {

using testing::Conv;
using testing::Mlp;
using torch::Tensor;

// A chain and its inputs.
struct Made {
  std::vector<LayerPlan> layers;
  std::unique_ptr<FlatParameters> parameters;
  std::unique_ptr<Chain> chain;
};

Made Make(const std::vector<int64_t>& shape, const std::vector<LayerSpec>& specs, std::optional<int64_t> members,
          torch::ScalarType dtype = torch::kFloat64, bool learns = true) {
  Made made;
  std::vector<ArraySpec> layout;
  std::vector<ArraySpec> no_statistics;
  LayerPlanner planner(members, &layout, &no_statistics);
  planner.Begin(shape);
  for (size_t i = 0; i < specs.size(); ++i) {
    REQUIRE_OK(planner.Add(std::to_string(i), specs[i], &made.layers));
  }
  made.parameters =
      std::make_unique<FlatParameters>(testing::ValueOf(FlatParameters::Create(layout, torch::kCPU, dtype, learns)));
  torch::manual_seed(5);
  made.parameters->values().normal_(0, 0.4);
  std::vector<const LayerPlan*> pointers;
  for (const LayerPlan& layer : made.layers) {
    pointers.push_back(&layer);
  }
  made.chain = std::make_unique<Chain>(pointers, members, learns, made.parameters.get());
  return made;
}

double Tolerance(torch::ScalarType dtype) {
  return dtype == torch::kFloat64 ? 1e-12 : 1e-5;
}

void CheckClose(const Tensor& got, const Tensor& wanted) {
  REQUIRE(got.sizes() == wanted.sizes());
  const double largest = wanted.abs().max().item<double>();
  CHECK((got - wanted).abs().max().item<double>() <= Tolerance(wanted.scalar_type()) * (1 + largest));
}

// A pass's outputs, and its gradients by the parameters and by the input.
struct Pass {
  Tensor output;
  Tensor parameters;  // Undefined if nothing is learned.
  Tensor input;
};

Pass Through(const Made& made, const Tensor& input, bool by_autograd) {
  if (made.parameters->gradients().defined()) {
    made.parameters->gradients().zero_();
  }
  const Tensor leaf = input.detach().clone().requires_grad_();
  const Tensor output = by_autograd ? made.chain->ByAutograd(leaf) : (*made.chain)(leaf);
  (output * output.detach().sin() + output).sum().backward();
  const Tensor gradients = made.parameters->gradients();
  return {output.detach(), gradients.defined() ? gradients.clone() : gradients, leaf.grad()};
}

void CheckAsAutograd(const Made& made, const Tensor& input) {
  const Pass wanted = Through(made, input, /*by_autograd=*/true);
  const Pass got = Through(made, input, /*by_autograd=*/false);
  CheckClose(got.output, wanted.output);
  CheckClose(got.input, wanted.input);
  if (wanted.parameters.defined()) {
    CHECK(wanted.parameters.abs().max().item<double>() > 0);
    CheckClose(got.parameters, wanted.parameters);
  }
}

TEST_CASE("a chain computes the outputs and the gradients that autograd does", "[unit]") {
  const std::vector<int64_t> image = {2, 6, 5};
  for (const char* activation : {"relu", "tanh", "elu", "gelu", "silu", "leaky_relu", "sigmoid", "none"}) {
    for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
      for (const int64_t members : {0, 1, 3}) {
        for (const int64_t rows : {1, 7}) {
          INFO(activation << " " << dtype << " members " << members << " rows " << rows);
          const std::optional<int64_t> count = members > 0 ? std::make_optional(members) : std::nullopt;
          CheckAsAutograd(Make({3}, {Mlp({5, 4}, activation), Mlp({2}, "none")}, count, dtype),
                          torch::randn({rows, 3}, dtype));
          const Made conv =
              Make(image,
                   {Conv(3, 3, 2, 1, activation), Conv(2, 2, 1, 0, activation), Mlp({4}, activation), Mlp({2}, "none")},
                   count, dtype);
          CheckAsAutograd(conv, torch::randn({rows, 2, 6, 5}, dtype));
          // Each member has an input of its own.
          if (members > 0) {
            CheckAsAutograd(Make({3}, {Mlp({5, 4}, activation), Mlp({2}, "none")}, count, dtype),
                            torch::randn({members, rows, 3}, dtype));
            CheckAsAutograd(conv, torch::randn({members, rows, 2, 6, 5}, dtype));
          }
        }
      }
    }
  }
}

TEST_CASE("members are one product or one each, by size, with the same result", "[unit]") {
  // With 7 rows the second layer has more than 2 ^ 21 multiplications a member; the others, and one row less, have
  // fewer.
  for (const auto dtype : {torch::kFloat32, torch::kFloat64}) {
    const Made made = Make({600}, {Mlp({600, 600, 3}, "tanh")}, 3, dtype);
    made.parameters->values().mul_(0.1);
    for (const int64_t rows : {1, 7}) {
      INFO(rows);
      CheckAsAutograd(made, torch::randn({rows, 600}, dtype));
      CheckAsAutograd(made, torch::randn({3, rows, 600}, dtype));
    }
  }
}

TEST_CASE("a dense layer after a convolution returns a gradient of the convolution's shape", "[unit]") {
  const Tensor input = torch::randn({4, 2, 3, 2}, torch::kFloat64);
  CheckAsAutograd(Make({12}, {Mlp({5})}, {}), input);
  const Made members = Make({12}, {Mlp({5})}, 3);
  CheckAsAutograd(members, torch::randn({3, 4, 2, 3, 2}, torch::kFloat64));
  CHECK(Through(members, torch::randn({3, 4, 2, 3, 2}, torch::kFloat64), false).input.dim() == 5);
}

TEST_CASE("a chain that is passed twice in one graph adds both gradients", "[unit]") {
  for (const int64_t members : {0, 3}) {
    const Made made = Make({3}, {Mlp({4, 2}, "silu")}, members > 0 ? std::make_optional(members) : std::nullopt);
    const Tensor a = torch::randn({4, 3}, torch::kFloat64);
    const Tensor b = torch::randn({2, 3}, torch::kFloat64);
    const auto gradients = [&](bool by_autograd) {
      const auto pass = [&](const Tensor& x) { return by_autograd ? made.chain->ByAutograd(x) : (*made.chain)(x); };
      made.parameters->gradients().zero_();
      (pass(a).square().sum() + pass(b).exp().sum()).backward();
      return made.parameters->gradients().clone();
    };
    const Tensor wanted = gradients(true);
    CheckClose(gradients(false), wanted);
    // The gradients add to the present ones.
    made.parameters->gradients().fill_(3);
    ((*made.chain)(a).square().sum() + (*made.chain)(b).exp().sum()).backward();
    CheckClose(made.parameters->gradients() - 3, wanted);
  }
}

TEST_CASE("a chain without gradients has the same outputs and saves nothing", "[unit]") {
  const Made made = Make({3}, {Mlp({4, 2}, "gelu")}, {});
  const Tensor input = torch::randn({4, 3}, torch::kFloat64).requires_grad_();
  const Tensor learned = (*made.chain)(input);
  CHECK(learned.requires_grad());
  const torch::NoGradGuard no_grad;
  const Tensor output = (*made.chain)(input);
  CHECK_FALSE(output.requires_grad());
  CHECK(torch::equal(output, learned));
}

TEST_CASE("a chain's graph is used once, unless it is kept, and never differentiated twice", "[unit]") {
  const Made made = Make({3}, {Mlp({4, 2}, "tanh")}, {});
  const Tensor input = torch::randn({4, 3}, torch::kFloat64);
  const Tensor loss = (*made.chain)(input).sum();
  loss.backward({}, /*retain_graph=*/true);
  const Tensor once = made.parameters->gradients().clone();
  loss.backward();
  CheckClose(made.parameters->gradients(), 2 * once);
  CHECK_THROWS_AS(loss.backward(), c10::Error);
  const Tensor leaf = input.clone().requires_grad_();
  CHECK_THROWS_AS(torch::autograd::grad({(*made.chain)(leaf).sum()}, {leaf}, {}, true, /*create_graph=*/true),
                  c10::Error);
}

TEST_CASE("activations are LibTorch's", "[unit]") {
  const Tensor x = torch::linspace(-3, 3, 13, torch::kFloat64);
  CHECK(torch::equal(Activate(Activation::kNone, x), x));
  CHECK(torch::allclose(Activate(Activation::kRelu, x), x.clamp_min(0)));
  CHECK(torch::allclose(Activate(Activation::kTanh, x), x.tanh()));
  CHECK(torch::allclose(Activate(Activation::kElu, x), torch::where(x > 0, x, x.exp() - 1)));
  CHECK(torch::allclose(Activate(Activation::kSilu, x), x * x.sigmoid()));
  CHECK(torch::allclose(Activate(Activation::kGelu, x), x * 0.5 * (1 + (x / std::sqrt(2.0)).erf())));
  CHECK(torch::allclose(Activate(Activation::kLeakyRelu, x), torch::where(x > 0, x, 0.01 * x)));
  CHECK(torch::allclose(Activate(Activation::kSigmoid, x), 1 / (1 + (-x).exp())));
}

}  // namespace
}  // namespace waggle
