#include "common/rl/algorithms/trpo/natural_gradient.h"

#include <vector>

#include "common/rl/kit/returns/advantages.h"

namespace waggle {

using torch::Tensor;

Tensor ConjugateGradients(const MatrixProduct& matrix, const Tensor& b, int64_t steps, double residual) {
  Tensor x = torch::zeros_like(b);
  Tensor rest = b.clone();
  Tensor direction = b.clone();
  Tensor norm = rest.dot(rest);
  for (int64_t step = 0; step < steps && norm.item<double>() > residual; ++step) {
    const Tensor product = matrix(direction);
    const Tensor length = norm / direction.dot(product);
    x = x + length * direction;
    rest = rest - length * product;
    const Tensor next = rest.dot(rest);
    direction = rest + next / norm * direction;
    norm = next;
  }
  return x;
}

MatrixProduct FisherByDivergence(const Distribution& policy, const Distribution& acted, const Tensor& mask,
                                 ParameterGroup* group, UpdateContext* context) {
  const Tensor gradient = context->GradientGraph(MaskedMean(policy.DivergenceFrom(acted), mask), group);
  return [=](const Tensor& vector) { return context->Gradient(gradient.dot(vector), group); };
}

MatrixProduct FisherByParameters(const Distribution& policy, const Tensor& mask, ParameterGroup* group,
                                 UpdateContext* context) {
  std::vector<Tensor> parameters, information, ones;
  Tensor sum;
  for (const FisherBlock& block : policy.Fisher()) {
    std::vector<int64_t> shape = mask.sizes().vec();
    shape.resize(static_cast<size_t>(block.parameters.dim()), 1);
    const Tensor weight = (mask.to(block.parameters.scalar_type()) / mask.sum().clamp_min(1)).view(shape);
    parameters.push_back(block.parameters);
    information.push_back(weight * block.information);
    // J^T u is linear in u, so that its derivative by u is J.
    ones.push_back(torch::ones_like(block.parameters).detach().requires_grad_());
    const Tensor part = (parameters.back() * ones.back()).sum();
    sum = sum.defined() ? sum + part : part;
  }
  const Tensor pulled = context->GradientGraph(sum, group);
  return [=](const Tensor& vector) {
    const std::vector<Tensor> pushed =
        torch::autograd::grad({pulled.dot(vector)}, ones, {}, /*retain_graph=*/true, /*create_graph=*/false);
    Tensor scalar = torch::zeros_like(sum);
    for (size_t i = 0; i < pushed.size(); ++i) {
      scalar = scalar + (parameters[i] * (information[i] * pushed[i])).sum();
    }
    return context->Gradient(scalar, group);
  };
}

}  // namespace waggle
