#include "common/rl/kit/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "absl/strings/str_join.h"
#include "common/rl/kit/q_learning.h"
#include "common/rl/kit/tensor_check.h"

namespace waggle {

// A kind of distribution. By default it has no operations.
class DistributionForm {
 public:
  explicit DistributionForm(const char* kind) : kind_(kind) {}
  virtual ~DistributionForm() = default;

  const char* kind() const { return kind_; }

  virtual SampledAction Sample(Noise* noise) const = 0;
  virtual torch::Tensor Mode() const = 0;
  virtual torch::Tensor LogProb(const torch::Tensor& /*action*/) const { return Refuse("log-probabilities"); }
  virtual torch::Tensor Entropy() const { return Refuse("entropy"); }
  // `other` must be of the same kind.
  virtual torch::Tensor DivergenceFrom(const DistributionForm& /*other*/) const { return Refuse("divergence"); }
  virtual torch::Tensor Mean() const { return Refuse("mean of real elements"); }
  virtual torch::Tensor Stddev() const { return Refuse("deviation of real elements"); }
  virtual std::vector<FisherBlock> Fisher() const { return {{Refuse("Fisher information"), {}}}; }
  virtual torch::Tensor LogProbabilities() const { return Refuse("list of its choices' log-probabilities"); }

 private:
  torch::Tensor Refuse(const char* what) const { TORCH_CHECK(false, "a ", kind_, " distribution has no ", what); }

  const char* const kind_;
};

namespace {

constexpr double kIllegalLogProb = -1e9;
const double kHalfLog2Pi = 0.5 * std::log(2 * M_PI);
const double kLog2 = std::log(2.0);

void CheckParameters(const char* what, const torch::Tensor& tensor) {
  TORCH_CHECK(IsFloat32Or64(tensor) && tensor.dim() > 0 && tensor.size(-1) > 0, what, " is ", DescribeTensor(tensor),
              "; wanted Float or Double[..., at least 1]");
}

// Illegal logits are -infinity in the softmax. The second fill keeps infinities out of later results. Both stop
// gradients. Undefined `legal` means all.
torch::Tensor MaskedLogSoftmax(const torch::Tensor& logits, const torch::Tensor& legal) {
  if (!legal.defined()) {
    return logits.log_softmax(-1);
  }
  const torch::Tensor illegal = legal.logical_not();
  return logits.masked_fill(illegal, -std::numeric_limits<double>::infinity())
      .log_softmax(-1)
      .masked_fill(illegal, kIllegalLogProb);
}

class CategoricalForm : public DistributionForm {
 public:
  CategoricalForm(const torch::Tensor& logits, const torch::Tensor& legal)
      : DistributionForm("categorical"), log_probabilities_(MaskedLogSoftmax(logits, legal)) {}

  SampledAction Sample(Noise* noise) const override {
    torch::Tensor action = noise->Categorical(log_probabilities_.detach().exp());
    return {action, log_probabilities_.gather(-1, action.unsqueeze(-1)).squeeze(-1)};
  }
  torch::Tensor Mode() const override { return log_probabilities_.argmax(-1); }
  torch::Tensor LogProb(const torch::Tensor& action) const override {
    const at::IntArrayRef sizes = log_probabilities_.sizes();
    CheckTensor("the action", action, torch::kInt64, sizes.slice(0, sizes.size() - 1));
    return ValuesOfChoices(log_probabilities_, action);
  }
  torch::Tensor Entropy() const override { return -(log_probabilities_.exp() * log_probabilities_).sum(-1); }
  torch::Tensor DivergenceFrom(const DistributionForm& other) const override {
    const torch::Tensor& from = static_cast<const CategoricalForm&>(other).log_probabilities_;
    CheckTensor("the other's logits", from, log_probabilities_.scalar_type(), log_probabilities_.sizes());
    return (from.exp() * (from - log_probabilities_)).sum(-1);
  }
  std::vector<FisherBlock> Fisher() const override { return {{log_probabilities_, log_probabilities_.detach().exp()}}; }
  torch::Tensor LogProbabilities() const override { return log_probabilities_; }

 private:
  const torch::Tensor log_probabilities_;
};

// Choices side by side, [..., choices, most values]. Shorter ones are padded with illegal values.
class MultiCategoricalForm : public DistributionForm {
 public:
  MultiCategoricalForm(const torch::Tensor& logits, std::vector<int64_t> num_values, const torch::Tensor& mask)
      : DistributionForm("multi-categorical"),
        num_values_(std::move(num_values)),
        exists_(AllEqual() ? torch::Tensor() : SideBySide(torch::ones_like(logits, torch::kBool), 0)),
        each_(SideBySide(logits, 0), LegalSideBySide(mask)) {}

  SampledAction Sample(Noise* noise) const override {
    const SampledAction each = each_.Sample(noise);
    return {each.action, each.log_prob.sum(-1)};
  }
  torch::Tensor Mode() const override { return each_.Mode(); }
  torch::Tensor LogProb(const torch::Tensor& action) const override {
    const torch::Tensor log_prob = each_.LogProb(action);
    if (AllEqual()) {
      return log_prob.sum(-1);
    }
    const torch::Tensor index = action.clamp(0, exists_.size(-1) - 1).unsqueeze(-1);
    const torch::Tensor is_padding = exists_.gather(-1, index).squeeze(-1).logical_not();
    return log_prob.masked_fill(is_padding, std::numeric_limits<double>::quiet_NaN()).sum(-1);
  }
  torch::Tensor Entropy() const override { return each_.Entropy().sum(-1); }
  torch::Tensor DivergenceFrom(const DistributionForm& other) const override {
    const auto& from = static_cast<const MultiCategoricalForm&>(other);
    TORCH_CHECK(from.num_values_ == num_values_, "the other's choices have [", absl::StrJoin(from.num_values_, ", "),
                "] values; wanted [", absl::StrJoin(num_values_, ", "), "]");
    return each_.DivergenceFrom(from.each_).sum(-1);
  }
  std::vector<FisherBlock> Fisher() const override { return each_.Fisher(); }

 private:
  bool AllEqual() const {
    return std::all_of(num_values_.begin(), num_values_.end(), [&](int64_t n) { return n == num_values_[0]; });
  }
  torch::Tensor SideBySide(const torch::Tensor& all, double filling) const {
    if (AllEqual()) {
      std::vector<int64_t> sizes = all.sizes().vec();
      sizes.back() = static_cast<int64_t>(num_values_.size());
      sizes.push_back(num_values_[0]);
      return all.reshape(sizes);
    }
    const int64_t most = *std::max_element(num_values_.begin(), num_values_.end());
    std::vector<torch::Tensor> parts = all.split_with_sizes(num_values_, -1);
    for (torch::Tensor& part : parts) {
      part = at::constant_pad_nd(part, {0, most - part.size(-1)}, filling);
    }
    return torch::stack(parts, -2);
  }
  torch::Tensor LegalSideBySide(const torch::Tensor& mask) const {
    if (AllEqual()) {
      return mask.defined() ? Legal(SideBySide(mask, 0)) : mask;
    }
    return mask.defined() ? Legal(SideBySide(mask, 0)).logical_and(exists_) : exists_;
  }

  const std::vector<int64_t> num_values_;
  const torch::Tensor exists_;  // False for padding; undefined if there is none.
  const CategoricalForm each_;
};

class NormalForm : public DistributionForm {
 public:
  NormalForm(torch::Tensor mean, torch::Tensor log_std, const char* kind = "normal")
      : DistributionForm(kind), mean_(std::move(mean)), log_std_(std::move(log_std)) {}

  SampledAction Sample(Noise* noise) const override {
    const Draw draw = DrawNormal(noise);
    return {draw.value, draw.log_densities.sum(-1)};
  }
  torch::Tensor Mode() const override { return mean_; }
  torch::Tensor Mean() const override { return mean_; }
  torch::Tensor Stddev() const override { return log_std_.exp(); }
  torch::Tensor LogProb(const torch::Tensor& action) const override {
    CheckTensor("the action", action, mean_.scalar_type(), mean_.sizes());
    return LogDensities(action).sum(-1);
  }
  torch::Tensor Entropy() const override { return (log_std_ + (0.5 + kHalfLog2Pi)).sum(-1); }
  torch::Tensor DivergenceFrom(const DistributionForm& other) const override {
    const auto& from = static_cast<const NormalForm&>(other);
    CheckTensor("the other's mean", from.mean_, mean_.scalar_type(), mean_.sizes());
    const torch::Tensor log_ratio = log_std_ - from.log_std_;
    const torch::Tensor distance = (from.mean_ - mean_) * (-log_std_).exp();
    // expm1, because policies usually differ little.
    return (((log_ratio * -2).expm1() + distance.square()) * 0.5 + log_ratio).sum(-1);
  }
  std::vector<FisherBlock> Fisher() const override {
    return {{mean_, (log_std_.detach() * -2).exp()}, {log_std_, torch::full_like(log_std_, 2).detach()}};
  }

 protected:
  struct Draw {
    torch::Tensor value, log_densities;  // Both [..., dimensions].
  };
  // Densities are computed from the noise, because the value may have lost it to rounding.
  Draw DrawNormal(Noise* noise) const {
    const torch::Tensor epsilon = noise->NormalLike(mean_);
    return {mean_ + log_std_.exp() * epsilon, epsilon.square() * -0.5 - log_std_ - kHalfLog2Pi};
  }
  torch::Tensor LogDensities(const torch::Tensor& value) const {
    return ((value - mean_) * (-log_std_).exp()).square() * -0.5 - log_std_ - kHalfLog2Pi;
  }
  const torch::Tensor& mean() const { return mean_; }

 private:
  const torch::Tensor mean_, log_std_;
};

class TanhNormalForm : public NormalForm {
 public:
  TanhNormalForm(torch::Tensor mean, torch::Tensor log_std)
      : NormalForm(std::move(mean), std::move(log_std), "tanh-normal") {}

  SampledAction Sample(Noise* noise) const override {
    const Draw draw = DrawNormal(noise);
    return {draw.value.tanh(), (draw.log_densities - LogDerivative(draw.value)).sum(-1)};
  }
  torch::Tensor Mode() const override { return mean().tanh(); }
  torch::Tensor LogProb(const torch::Tensor& action) const override {
    CheckTensor("the action", action, mean().scalar_type(), mean().sizes());
    const double end = 1 - (action.scalar_type() == torch::kFloat64 ? std::numeric_limits<double>::epsilon()
                                                                    : std::numeric_limits<float>::epsilon());
    const torch::Tensor u = action.clamp(-end, end).atanh();
    return (LogDensities(u) - LogDerivative(u)).sum(-1);
  }
  torch::Tensor Entropy() const override {
    TORCH_CHECK(false, "a tanh-normal distribution's entropy has no closed form: use -log_prob of a sample");
  }

 private:
  // log(1 - tanh(u)^2), also if tanh(u) rounds to 1.
  static torch::Tensor LogDerivative(const torch::Tensor& u) { return (kLog2 - u - at::softplus(u * -2)) * 2; }
};

class MixedForm : public DistributionForm {
 public:
  MixedForm(const torch::Tensor& logits, std::vector<int64_t> num_values, const torch::Tensor& mask, torch::Tensor mean,
            torch::Tensor log_std)
      : DistributionForm("mixed"),
        num_choosing_(static_cast<int64_t>(num_values.size())),
        type_(mean.scalar_type()),
        choices_(logits, std::move(num_values), mask),
        reals_(std::move(mean), std::move(log_std)) {}

  SampledAction Sample(Noise* noise) const override {
    const SampledAction choices = choices_.Sample(noise);
    const SampledAction reals = reals_.Sample(noise);
    return {Joined(choices.action, reals.action), choices.log_prob + reals.log_prob};
  }
  torch::Tensor Mode() const override { return Joined(choices_.Mode(), reals_.Mode()); }
  torch::Tensor Mean() const override { return reals_.Mean(); }
  torch::Tensor Stddev() const override { return reals_.Stddev(); }
  torch::Tensor LogProb(const torch::Tensor& action) const override {
    TORCH_CHECK(action.defined() && action.dim() > 0 && action.size(-1) > num_choosing_, "the action is ",
                DescribeTensor(action), "; wanted [..., ", num_choosing_, " choices, then real elements]");
    const torch::Tensor choices = action.narrow(-1, 0, num_choosing_).to(torch::kInt64);
    const torch::Tensor reals = action.narrow(-1, num_choosing_, action.size(-1) - num_choosing_);
    return choices_.LogProb(choices) + reals_.LogProb(reals);
  }
  torch::Tensor Entropy() const override { return choices_.Entropy() + reals_.Entropy(); }
  torch::Tensor DivergenceFrom(const DistributionForm& other) const override {
    const auto& from = static_cast<const MixedForm&>(other);
    return choices_.DivergenceFrom(from.choices_) + reals_.DivergenceFrom(from.reals_);
  }
  std::vector<FisherBlock> Fisher() const override {
    std::vector<FisherBlock> blocks = reals_.Fisher();
    blocks.push_back(choices_.Fisher()[0]);
    return blocks;
  }

 private:
  torch::Tensor Joined(const torch::Tensor& choices, const torch::Tensor& reals) const {
    return torch::cat({choices.to(type_), reals}, -1);
  }

  const int64_t num_choosing_;
  const torch::ScalarType type_;
  const MultiCategoricalForm choices_;
  const NormalForm reals_;
};

class DeterministicForm : public DistributionForm {
 public:
  explicit DeterministicForm(torch::Tensor action) : DistributionForm("deterministic"), action_(std::move(action)) {}

  SampledAction Sample(Noise* /*noise*/) const override { return {action_, {}}; }
  torch::Tensor Mode() const override { return action_; }
  torch::Tensor Mean() const override { return action_; }
  torch::Tensor Stddev() const override { return torch::zeros_like(action_); }

 private:
  const torch::Tensor action_;
};

void CheckChoices(const torch::Tensor& logits, const std::vector<int64_t>& num_values, const torch::Tensor& mask) {
  CheckParameters("logits", logits);
  TORCH_CHECK(std::all_of(num_values.begin(), num_values.end(), [](int64_t n) { return n > 0; }) &&
                  std::accumulate(num_values.begin(), num_values.end(), int64_t{0}) == logits.size(-1),
              "num_values are [", absl::StrJoin(num_values, ", "), "]; wanted positive numbers of the sum ",
              logits.size(-1));
  if (mask.defined()) {
    CheckTensor("the mask", mask, torch::kBool, logits.sizes());
  }
}

void CheckNormal(const torch::Tensor& mean, const torch::Tensor& log_std) {
  CheckParameters("the mean", mean);
  CheckTensor("log_std", log_std, mean.scalar_type(), mean.sizes());
}

}  // namespace

Distribution Distribution::Categorical(torch::Tensor logits, torch::Tensor mask) {
  CheckParameters("logits", logits);
  if (mask.defined()) {
    CheckTensor("the mask", mask, torch::kBool, logits.sizes());
    mask = Legal(mask);
  }
  return Distribution(std::make_shared<CategoricalForm>(logits, mask));
}

Distribution Distribution::MultiCategorical(torch::Tensor logits, std::vector<int64_t> num_values, torch::Tensor mask) {
  CheckChoices(logits, num_values, mask);
  return Distribution(std::make_shared<MultiCategoricalForm>(logits, std::move(num_values), mask));
}

Distribution Distribution::Normal(torch::Tensor mean, torch::Tensor log_std) {
  CheckNormal(mean, log_std);
  return Distribution(std::make_shared<NormalForm>(std::move(mean), std::move(log_std)));
}

Distribution Distribution::TanhNormal(torch::Tensor mean, torch::Tensor log_std) {
  CheckNormal(mean, log_std);
  return Distribution(std::make_shared<TanhNormalForm>(std::move(mean), std::move(log_std)));
}

Distribution Distribution::Mixed(torch::Tensor logits, std::vector<int64_t> num_values, torch::Tensor mask,
                                 torch::Tensor mean, torch::Tensor log_std) {
  CheckChoices(logits, num_values, mask);
  CheckNormal(mean, log_std);
  TORCH_CHECK(
      logits.scalar_type() == mean.scalar_type() && logits.sizes().slice(0, static_cast<size_t>(logits.dim()) - 1) ==
                                                        mean.sizes().slice(0, static_cast<size_t>(mean.dim()) - 1),
      "the mean is ", DescribeTensor(mean), " beside logits ", DescribeTensor(logits),
      "; wanted the same but for the last dimension");
  return Distribution(
      std::make_shared<MixedForm>(logits, std::move(num_values), mask, std::move(mean), std::move(log_std)));
}

Distribution Distribution::Deterministic(torch::Tensor action) {
  TORCH_CHECK(action.defined(), "a deterministic distribution's action is nothing; wanted a tensor");
  return Distribution(std::make_shared<DeterministicForm>(std::move(action)));
}

torch::Tensor Legal(const torch::Tensor& mask) {
  return mask.logical_or(mask.any(-1, /*keepdim=*/true).logical_not());
}

SampledAction Distribution::Sample(Noise* noise) const {
  return form_->Sample(noise);
}

SampledAction Distribution::Samples(int64_t count, Noise* noise) const {
  std::vector<torch::Tensor> actions;
  std::vector<torch::Tensor> log_probs;
  for (int64_t i = 0; i < count; ++i) {
    SampledAction sample = Sample(noise);
    actions.push_back(std::move(sample.action));
    log_probs.push_back(std::move(sample.log_prob));
  }
  return {torch::stack(actions), log_probs[0].defined() ? torch::stack(log_probs) : torch::Tensor()};
}

torch::Tensor Distribution::mean() const {
  return form_->Mean();
}

torch::Tensor Distribution::stddev() const {
  return form_->Stddev();
}

torch::Tensor Distribution::Mode() const {
  return form_->Mode();
}

torch::Tensor Distribution::LogProb(const torch::Tensor& action) const {
  return form_->LogProb(action);
}

torch::Tensor Distribution::Entropy() const {
  return form_->Entropy();
}

torch::Tensor Distribution::DivergenceFrom(const Distribution& other) const {
  TORCH_CHECK(std::string(form_->kind()) == other.form_->kind(), "the other distribution is ", other.form_->kind(),
              "; wanted ", form_->kind());
  return form_->DivergenceFrom(*other.form_);
}

std::vector<FisherBlock> Distribution::Fisher() const {
  return form_->Fisher();
}

torch::Tensor Distribution::LogProbabilities() const {
  return form_->LogProbabilities();
}

}  // namespace waggle
