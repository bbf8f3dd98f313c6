#pragma once

#include <cstdint>
#include <functional>

#include "common/nn/parameter_group.h"
#include "common/nn/torch.h"
#include "common/rl/kit/distribution.h"
#include "common/rl/kit/update_context.h"

// The natural gradient of TRPO (arXiv 1502.05477, appendix C). Functions may throw as LibTorch does.

namespace waggle {

// A matrix, as its product with a vector [n].
using MatrixProduct = std::function<torch::Tensor(const torch::Tensor& vector)>;

// Solves matrix x = b, [n], for a symmetric positive definite matrix by at most `steps` steps of conjugate gradients.
// They end early at a residual whose squared norm is below `residual`.
torch::Tensor ConjugateGradients(const MatrixProduct& matrix, const torch::Tensor& b, int64_t steps, double residual);

// Both functions below multiply by the mean Fisher information of a policy [T, rows] over the rows in `mask`, by the
// group's parameters, as the mean over all learners. The policy must come from Net::Differentiable.
//
// The first: the Hessian of KL(acted || policy), where `acted` has the same parameters but is constant.
MatrixProduct FisherByDivergence(const Distribution& policy, const Distribution& acted, const torch::Tensor& mask,
                                 ParameterGroup* group, UpdateContext* context);
// The second: J^T M J, with M the information of the distribution's own parameters (Distribution::Fisher).
MatrixProduct FisherByParameters(const Distribution& policy, const torch::Tensor& mask, ParameterGroup* group,
                                 UpdateContext* context);

}  // namespace waggle
