#include "common/rl/kit/returns/off_policy_returns.h"

#include "common/rl/kit/tensor_check.h"

namespace waggle {
namespace {

using torch::Tensor;

// `values` in `counts`, and 0 elsewhere. Multiplying by 0 would keep values that are not finite.
Tensor Where(const Tensor& counts, const Tensor& values) {
  return torch::where(counts, values, torch::zeros({}, values.options()));
}

Tensor ClippedRatio(const Tensor& log_ratio, double clip) {
  return log_ratio.exp().clamp_max(clip);
}

template <class T>
void Sweep(const Tensor& own, const Tensor& weight, Tensor* result) {
  const int64_t rows = own.size(1);
  const T* const weights = weight.data_ptr<T>();
  const T* const owns = own.data_ptr<T>();
  T* const results = result->data_ptr<T>();
  for (int64_t i = own.numel() - 1; i >= 0; --i) {
    const bool follows = i + rows < own.numel() && weights[i] != 0;
    results[i] = owns[i] + (follows ? weights[i] * results[i + rows] : 0);
  }
}

// x_t = own_t + weight_t * x_{t+1}, with x_T = 0, along the first dimension. On the CPU one sweep over memory;
// LibTorch's operators would need several calls a row.
Tensor Backwards(const Tensor& own, const Tensor& weight) {
  if (own.is_cpu()) {
    Tensor result = torch::empty_like(own, torch::MemoryFormat::Contiguous);
    if (own.scalar_type() == torch::kFloat64) {
      Sweep<double>(own.contiguous(), weight.contiguous(), &result);
    } else {
      Sweep<float>(own.contiguous(), weight.contiguous(), &result);
    }
    return result;
  }
  Tensor result = own.clone();
  for (int64_t t = own.size(0) - 2; t >= 0; --t) {
    result.select(0, t).addcmul_(weight.select(0, t), result.select(0, t + 1));
  }
  return result;
}

void CheckSteps(const Tensor& log_ratio, const Tensor& reward, const Tensor& discount, const Tensor& last) {
  TORCH_CHECK(IsFloat32Or64(reward) && reward.dim() == 2, "reward is ", DescribeTensor(reward),
              "; wanted Float or Double[T, rows]");
  CheckTensor("log_ratio", log_ratio, reward.scalar_type(), reward.sizes());
  CheckTensor("discount", discount, reward.scalar_type(), reward.sizes());
  CheckTensor("last", last, torch::kBool, reward.sizes());
}

// Checks for [T + 1, rows] if `reward` is [T, rows].
void CheckRows(const char* what, const Tensor& values, const Tensor& reward) {
  CheckTensor(what, values, reward.scalar_type(), {reward.size(0) + 1, reward.size(1)});
}

}  // namespace

Advantages VTrace(const VTraceOptions& options, const Tensor& log_ratio, const Tensor& reward, const Tensor& discount,
                  const Tensor& value, const Tensor& last) {
  const torch::NoGradGuard no_grad;
  CheckSteps(log_ratio, reward, discount, last);
  CheckRows("value", value, reward);
  const int64_t steps = reward.size(0);
  const Tensor acts = last.logical_not();
  const Tensor goes_on = acts.logical_and(discount != 0);
  const Tensor rho = Where(acts, ClippedRatio(log_ratio, options.rho_clip));
  const Tensor c = Where(goes_on, options.lambda * discount * ClippedRatio(log_ratio, options.c_clip));
  const Tensor own_value = Where(acts, value.narrow(0, 0, steps));
  const Tensor next_value = Where(goes_on, discount * value.narrow(0, 1, steps));
  const Tensor error = Where(acts, reward) + next_value - own_value;
  // v - value. 0 in an episode's last row, because its own error and weight are 0.
  const Tensor excess = Backwards(rho * error, c);
  const Tensor after = torch::cat({excess.narrow(0, 1, steps - 1), torch::zeros_like(excess.narrow(0, 0, 1))});
  const Tensor following = Where(goes_on, options.lambda * discount * after);
  return {rho * (error + following), own_value + excess};
}

Tensor RetraceTargets(double lambda, const Tensor& log_ratio, const Tensor& reward, const Tensor& discount,
                      const Tensor& q, const Tensor& expected, const Tensor& last) {
  const torch::NoGradGuard no_grad;
  CheckSteps(log_ratio, reward, discount, last);
  CheckTensor("q", q, reward.scalar_type(), reward.sizes());
  CheckRows("expected", expected, reward);
  const int64_t steps = reward.size(0);
  const Tensor acts = last.logical_not();
  const Tensor goes_on = acts.logical_and(discount != 0);
  const Tensor own_q = Where(acts, q);
  const Tensor error = Where(acts, reward) + Where(goes_on, discount * expected.narrow(0, 1, steps)) - own_q;
  // The next step's; there is none after the unroll's end.
  const Tensor next_c = torch::cat({Where(acts, lambda * ClippedRatio(log_ratio, 1)).narrow(0, 1, steps - 1),
                                    torch::zeros_like(reward.narrow(0, 0, 1))});
  return own_q + Backwards(error, Where(goes_on, discount * next_c));
}

}  // namespace waggle
