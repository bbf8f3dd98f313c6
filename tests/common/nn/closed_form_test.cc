#include "common/nn/closed_form.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("a loss in closed form has its value, and its gradient times the incoming one", "[unit]") {
  const torch::Tensor input = torch::tensor({1.0, 2.0, 3.0}).requires_grad_();
  const torch::Tensor scaled = 2 * input;
  const torch::Tensor value = scaled.detach().square().sum();
  const torch::Tensor loss = WithGradient(value, scaled, 2 * scaled.detach());
  CHECK(loss.item<double>() == 56);
  CHECK(loss.requires_grad());
  (loss * 3).backward();
  const torch::Tensor other = input.detach().clone().requires_grad_();
  ((2 * other).square().sum() * 3).backward();
  CHECK(torch::equal(input.grad(), other.grad()));
}

TEST_CASE("losses of rows in closed form have gradients of their own rows", "[unit]") {
  const torch::Tensor input = torch::tensor({{1.0, 2.0}, {3.0, 4.0}}).requires_grad_();
  const torch::Tensor losses = WithGradient(torch::tensor({5.0, 25.0}), input, 2 * input.detach());
  (losses * torch::tensor({1.0, 10.0})).sum().backward();
  CHECK(torch::equal(input.grad(), torch::tensor({{2.0, 4.0}, {60.0, 80.0}})));
}

TEST_CASE("a loss in closed form adds to others of the same input", "[unit]") {
  const torch::Tensor input = torch::tensor({1.0, 2.0}).requires_grad_();
  const torch::Tensor one = WithGradient(torch::tensor(4.0), input, torch::tensor({5.0, 6.0}));
  (one + input.sum()).backward();
  CHECK(torch::equal(input.grad(), torch::tensor({6.0, 7.0})));
}

TEST_CASE("without differentiation a loss in closed form is its value", "[unit]") {
  const torch::Tensor value = torch::tensor(4.0);
  CHECK_FALSE(WithGradient(value, torch::zeros({2}), torch::zeros({2})).requires_grad());
  const torch::Tensor input = torch::zeros({2}).requires_grad_();
  const torch::NoGradGuard no_grad;
  CHECK_FALSE(WithGradient(value, input, torch::zeros({2})).requires_grad());
}

TEST_CASE("a gradient of another shape and a second backward pass are errors", "[unit]") {
  const torch::Tensor input = torch::zeros({2}).requires_grad_();
  const torch::Tensor value = torch::tensor(4.0);
  CHECK_THROWS_AS(WithGradient(value, input, torch::zeros({3})), c10::Error);
  const torch::Tensor loss = WithGradient(value, input, torch::ones({2}));
  loss.backward();
  CHECK_THROWS_AS(loss.backward(), c10::Error);
}

}  // namespace
}  // namespace waggle
