#include "common/rl/algorithms/trpo/natural_gradient.h"

#include <vector>

#include "common/rl/kit/returns/advantages.h"
#include "common/rl/kit/unroll_steps.h"
#include "tests/support/unroll_checks.h"

namespace waggle {
namespace {

using torch::Tensor;

TEST_CASE("conjugate gradients solve what a dense solver does, in as many steps as there are dimensions", "[unit]") {
  torch::manual_seed(1);
  for (const int64_t n : {1, 2, 8}) {
    const Tensor root = torch::randn({n, n}, torch::kFloat64);
    const Tensor matrix = root.mm(root.t()) + torch::eye(n, torch::kFloat64);
    const Tensor b = torch::randn({n}, torch::kFloat64);
    int64_t products = 0;
    const auto product = [&](const Tensor& vector) {
      ++products;
      return matrix.mv(vector);
    };
    const Tensor x = ConjugateGradients(product, b, n, /*residual=*/0);
    CHECK(torch::allclose(x, at::linalg_solve(matrix, b), 1e-6, 1e-9));
    CHECK(products <= n);
    // Each step comes closer, by the matrix's own norm.
    const Tensor half = ConjugateGradients(product, b, n / 2, 0) - x;
    CHECK((n == 1 || half.dot(matrix.mv(half)).item<double>() < x.dot(matrix.mv(x)).item<double>()));
  }
}

TEST_CASE("conjugate gradients end at a small residual, and begin with nothing for no vector", "[unit]") {
  int products = 0;
  const auto twice = [&](const Tensor& vector) {
    ++products;
    return 2 * vector;
  };
  const Tensor b = torch::tensor({3.0, -4.0}, torch::kFloat64);
  CHECK(torch::allclose(ConjugateGradients(twice, b, 10, 1e-10), b / 2));
  CHECK(products == 1);
  CHECK(torch::equal(ConjugateGradients(twice, torch::zeros_like(b), 10, 1e-10), torch::zeros_like(b)));
  CHECK(ConjugateGradients(twice, b, 10, 26).abs().sum().item<double>() == 0);  // |b|^2 is 25.
  CHECK(products == 1);
}

// The product of the Hessian of the mean divergence, as a difference of gradients.
TEST_CASE("both products of the Fisher information are those of the divergence's Hessian", "[unit]") {
  for (const EnvironmentSpec& environment : testing::AllKindsOfActions()) {
    const auto trainee = testing::ActorCriticOf("name: trpo, unroll: 5", environment);
    const Net& net = trainee->model().net("actor_critic");
    ParameterGroup* const group = net.group();
    const TensorBatch batch = testing::RandomUnrolls(environment, 3);
    const UnrollSteps steps(UnrollsOf(Batches(&environment, {{"", &batch}}), 0.9));
    const auto policy = [&] { return net.Unroll(steps.observation, steps.first, steps.core_state).policy(); };
    const Distribution acted = [&] {
      const torch::NoGradGuard no_grad;
      return policy();
    }();
    LocalStepper stepper;
    Noise noise(1, torch::kCPU);
    UpdateContext context(&stepper, Progress(), &noise);
    const Distribution differentiable =
        net.Differentiable().Unroll(steps.observation, steps.first, steps.core_state).policy();
    const MatrixProduct direct = FisherByDivergence(differentiable, acted, steps.counts, group, &context);
    const MatrixProduct fim = FisherByParameters(differentiable, steps.counts, group, &context);
    const Tensor vectors = torch::randn({3, group->values().numel()}, torch::kFloat64);
    std::vector<Tensor> by_direct, by_fim;
    for (int64_t i = 0; i < 3; ++i) {
      by_direct.push_back(direct(vectors[i]));
      by_fim.push_back(fim(vectors[i]));
    }
    Tensor values = group->values();
    for (int64_t i = 0; i < 3; ++i) {
      const auto gradient = [&](double by) {
        const torch::Tensor start = values.clone();
        values.add_(by * vectors[i]);
        const Tensor result = context.Gradient(MaskedMean(policy().DivergenceFrom(acted), steps.counts), group);
        values.copy_(start);
        return result;
      };
      const Tensor expected = (gradient(1e-5) - gradient(-1e-5)) / 2e-5;
      CHECK(expected.abs().max().item<double>() > 1e-3);
      CHECK(torch::allclose(by_direct[static_cast<size_t>(i)], expected, 1e-5, 1e-8));
      CHECK(torch::allclose(by_fim[static_cast<size_t>(i)], expected, 1e-5, 1e-8));
    }
    REQUIRE_OK(context.status());
  }
}

}  // namespace
}  // namespace waggle
