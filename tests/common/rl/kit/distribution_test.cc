#include "common/rl/kit/distribution.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "tests/support/catch.h"
#include "tests/support/chi_square.h"

namespace waggle {
namespace {

const std::vector<torch::ScalarType> kTypes = {torch::kFloat32, torch::kFloat64};
const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> Values(const torch::Tensor& tensor) {
  const torch::Tensor values = tensor.detach().to(torch::kFloat64).flatten().contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

torch::Tensor Random(std::vector<int64_t> sizes, uint64_t seed, double scale = 1) {
  return Noise(seed, torch::kCPU).NormalLike(torch::empty(sizes, torch::kFloat64)) * scale;
}

// At least two of three choices are legal: [..., choices], as the logits.
torch::Tensor Mask(const torch::Tensor& logits) {
  const torch::Tensor numbers = torch::arange(logits.numel()).view(logits.sizes());
  return numbers.remainder(3) != 1;
}

// The probabilities of one row, from the definition; `legal` may be empty.
std::vector<double> Softmax(const std::vector<double>& logits, const std::vector<double>& legal) {
  std::vector<double> probabilities;
  double sum = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    probabilities.push_back(legal.empty() || legal[i] != 0 ? std::exp(logits[i]) : 0);
    sum += probabilities.back();
  }
  for (double& probability : probabilities) {
    probability /= sum;
  }
  return probabilities;
}

double EntropyOf(const std::vector<double>& p) {
  double sum = 0;
  for (const double x : p) {
    sum -= x > 0 ? x * std::log(x) : 0;
  }
  return sum;
}

double KullbackLeibler(const std::vector<double>& from, const std::vector<double>& to) {
  double sum = 0;
  for (size_t i = 0; i < from.size(); ++i) {
    sum += from[i] > 0 ? from[i] * std::log(from[i] / to[i]) : 0;
  }
  return sum;
}

double NormalLogDensity(double x, double mean, double log_std) {
  return -0.5 * std::pow((x - mean) / std::exp(log_std), 2) - log_std - 0.5 * std::log(2 * M_PI);
}

// log(1 - tanh(u)^2) = -2 log cosh(u), without overflow.
double LogTanhDerivative(double u) {
  return 2 * std::log(2) - 2 * std::abs(u) - 2 * std::log1p(std::exp(-2 * std::abs(u)));
}

// Compares autograd's gradient of sum(weights * function(parameters)) with central differences, in float64.
using Function = std::function<torch::Tensor(const std::vector<torch::Tensor>&)>;
void CheckGradients(const Function& function, std::vector<torch::Tensor> parameters) {
  for (torch::Tensor& parameter : parameters) {
    parameter = parameter.detach().clone().requires_grad_();
  }
  const torch::Tensor output = function(parameters);
  const torch::Tensor weights = Random(output.sizes().vec(), 99);
  const std::vector<torch::Tensor> gradients =
      torch::autograd::grad({(output * weights).sum()}, {parameters.begin(), parameters.end()}, {}, c10::nullopt,
                            /*create_graph=*/false, /*allow_unused=*/true);
  torch::NoGradGuard no_grad;
  const double step = 1e-6;
  for (size_t k = 0; k < parameters.size(); ++k) {
    torch::Tensor flat = parameters[k].view({-1});
    for (int64_t i = 0; i < flat.numel(); ++i) {
      const double before = flat[i].item<double>();
      flat[i] = before + step;
      const double above = (function(parameters) * weights).sum().item<double>();
      flat[i] = before - step;
      const double below = (function(parameters) * weights).sum().item<double>();
      flat[i] = before;
      INFO("parameter " << k << ", element " << i);
      const double gradient = gradients[k].defined() ? gradients[k].reshape({-1})[i].item<double>() : 0;
      CHECK(gradient == Approx((above - below) / (2 * step)).epsilon(1e-5).margin(1e-7));
    }
  }
}

// [rows], [members, rows], [T, members, rows], and one distribution alone.
const std::vector<std::vector<int64_t>> kLeading = {{4}, {2, 3}, {2, 1, 3}, {}};

std::vector<int64_t> With(std::vector<int64_t> leading, int64_t last) {
  leading.push_back(last);
  return leading;
}

TEST_CASE("a categorical distribution agrees with its definition, for any leading dimensions", "[unit]") {
  for (const torch::ScalarType type : kTypes) {
    for (const std::vector<int64_t>& leading : kLeading) {
      for (const bool masked : {false, true}) {
        const torch::Tensor logits = Random(With(leading, 5), 1, 2).to(type);
        const torch::Tensor other_logits = Random(With(leading, 5), 2, 2).to(type);
        const torch::Tensor mask = masked ? Mask(logits) : torch::Tensor();
        const Distribution distribution = Distribution::Categorical(logits, mask);
        const Distribution other = Distribution::Categorical(other_logits, mask);
        const torch::Tensor entropy = distribution.Entropy();
        const torch::Tensor divergence = distribution.DivergenceFrom(other);
        const torch::Tensor mode = distribution.Mode();
        REQUIRE(entropy.sizes() == at::IntArrayRef(leading));
        REQUIRE(divergence.sizes() == at::IntArrayRef(leading));
        REQUIRE(mode.sizes() == at::IntArrayRef(leading));
        REQUIRE(mode.scalar_type() == torch::kInt64);
        for (int64_t row = 0; row < entropy.numel(); ++row) {
          const auto row_of = [&](const torch::Tensor& tensor) { return Values(tensor.reshape({-1, 5})[row]); };
          const std::vector<double> legal = masked ? row_of(mask) : std::vector<double>();
          const std::vector<double> p = Softmax(row_of(logits), legal);
          const std::vector<double> q = Softmax(row_of(other_logits), legal);
          const auto at = [&](const torch::Tensor& tensor) { return tensor.reshape({-1})[row].item<double>(); };
          CHECK(at(entropy) == Approx(EntropyOf(p)).epsilon(1e-5));
          CHECK(at(divergence) == Approx(KullbackLeibler(q, p)).epsilon(1e-5));
          CHECK(at(mode) == std::max_element(p.begin(), p.end()) - p.begin());
          for (int64_t choice = 0; choice < 5; ++choice) {
            const double probability = p[static_cast<size_t>(choice)];
            const double wanted = probability > 0 ? std::log(probability) : -1e9;
            CHECK(at(distribution.LogProb(torch::full(leading, choice, torch::kInt64))) ==
                  Approx(wanted).epsilon(1e-5));
            CHECK(at(distribution.LogProbabilities().select(-1, choice)) == Approx(wanted).epsilon(1e-5));
          }
        }
      }
    }
  }
}

TEST_CASE("choices are drawn as often as their probabilities say, and illegal ones never", "[unit]") {
  Noise noise(3, torch::kCPU);
  // The illegal choice has by far the largest logit.
  const torch::Tensor logits = torch::tensor({0.5, 50.0, -1.0, 1.0}).expand({20000, 4});
  const torch::Tensor mask = torch::tensor({1, 0, 1, 1}).to(torch::kBool).expand({20000, 4});
  const Distribution distribution = Distribution::Categorical(logits, mask);
  const SampledAction sampled = distribution.Sample(&noise);
  REQUIRE(sampled.action.sizes() == at::IntArrayRef({20000}));
  CHECK(torch::equal(sampled.log_prob, distribution.LogProb(sampled.action)));
  std::map<int64_t, int64_t> counts;
  for (const double action : Values(sampled.action)) {
    ++counts[static_cast<int64_t>(action)];
  }
  testing::CheckChiSquare(counts, {{0, std::exp(0.5)}, {2, std::exp(-1)}, {3, std::exp(1)}});
  CHECK((distribution.Mode() == 3).all().item<bool>());
}

TEST_CASE("illegal choices leave values and gradients finite, whatever their logits", "[unit]") {
  for (const torch::ScalarType type : kTypes) {
    for (const double illegal : {kNaN, kInfinity, -kInfinity, 1e30}) {
      torch::Tensor logits = torch::tensor({{1.0, illegal, 80.0, -80.0}, {illegal, 0.0, illegal, illegal}}).to(type);
      logits.requires_grad_();
      const torch::Tensor mask = torch::tensor({1, 0, 1, 1, 0, 1, 0, 0}).to(torch::kBool).view({2, 4});
      const Distribution distribution = Distribution::Categorical(logits, mask);
      const Distribution other = Distribution::Categorical(torch::zeros({2, 4}, type), mask);
      Noise noise(4, torch::kCPU);
      const SampledAction sampled = distribution.Sample(&noise);
      for (const torch::Tensor& result :
           {sampled.log_prob, distribution.Entropy(), distribution.DivergenceFrom(other),
            other.DivergenceFrom(distribution), distribution.LogProb(torch::tensor({1, 0}, torch::kInt64)),
            (distribution.LogProbabilities().exp() * distribution.LogProbabilities()).sum(-1)}) {
        CHECK(result.isfinite().all().item<bool>());
        const torch::Tensor gradient = torch::autograd::grad({result.sum()}, {logits}, {}, /*retain_graph=*/true)[0];
        CHECK(gradient.isfinite().all().item<bool>());
        CHECK(torch::equal(gradient.masked_select(mask.logical_not()), torch::zeros({4}, type)));
      }
      CHECK(distribution.Entropy()[1].item<double>() == 0);  // One legal choice.
    }
  }
}

TEST_CASE("all choices count in a row without a legal one", "[unit]") {
  const torch::Tensor logits = Random({2, 3}, 5);
  const torch::Tensor mask = torch::tensor({0, 0, 0, 1, 0, 1}).to(torch::kBool).view({2, 3});
  const torch::Tensor got = Distribution::Categorical(logits, mask).LogProbabilities();
  CHECK(torch::equal(got[0], Distribution::Categorical(logits).LogProbabilities()[0]));
  CHECK(got[1][1].item<double>() == -1e9);
}

TEST_CASE("several choices are the sum of each by itself", "[unit]") {
  for (const std::vector<int64_t>& num_values : {std::vector<int64_t>{3, 3}, {2, 4, 1}, {5}}) {
    const int64_t all = std::accumulate(num_values.begin(), num_values.end(), int64_t{0});
    for (const std::vector<int64_t>& leading : kLeading) {
      for (const bool masked : {false, true}) {
        const torch::Tensor logits = Random(With(leading, all), 6, 2);
        const torch::Tensor other_logits = Random(With(leading, all), 7, 2);
        torch::Tensor mask = masked ? Mask(logits) : torch::Tensor();
        if (masked) {
          mask.narrow(-1, 0, num_values[0]).fill_(false);  // The first element has no legal choice.
        }
        const Distribution distribution = Distribution::MultiCategorical(logits, num_values, mask);
        const Distribution other = Distribution::MultiCategorical(other_logits, num_values, mask);
        Noise noise(8, torch::kCPU);
        const SampledAction sampled = distribution.Sample(&noise);
        REQUIRE(sampled.action.sizes() == at::IntArrayRef(With(leading, static_cast<int64_t>(num_values.size()))));
        torch::Tensor log_prob = torch::zeros(leading, torch::kFloat64);
        torch::Tensor entropy = log_prob.clone();
        torch::Tensor divergence = log_prob.clone();
        int64_t offset = 0;
        for (size_t i = 0; i < num_values.size(); ++i) {
          const auto part = [&](const torch::Tensor& tensor) {
            return tensor.defined() ? tensor.narrow(-1, offset, num_values[i]) : tensor;
          };
          const Distribution single = Distribution::Categorical(part(logits), part(mask));
          const torch::Tensor action = sampled.action.select(-1, static_cast<int64_t>(i));
          CHECK((action < num_values[i]).all().item<bool>());
          log_prob += single.LogProb(action);
          entropy += single.Entropy();
          divergence += single.DivergenceFrom(Distribution::Categorical(part(other_logits), part(mask)));
          CHECK(torch::equal(distribution.Mode().select(-1, static_cast<int64_t>(i)), single.Mode()));
          offset += num_values[i];
        }
        CHECK(torch::allclose(sampled.log_prob, log_prob));
        CHECK(torch::allclose(distribution.LogProb(sampled.action), log_prob));
        CHECK(torch::allclose(distribution.Entropy(), entropy));
        CHECK(torch::allclose(distribution.DivergenceFrom(other), divergence));
      }
    }
  }
}

TEST_CASE("several choices are drawn independently", "[unit]") {
  Noise noise(9, torch::kCPU);
  const torch::Tensor logits = torch::tensor({0.0, 1.0, 0.0, -1.0, 0.5}).expand({20000, 5});
  const torch::Tensor action = Distribution::MultiCategorical(logits, {2, 3}).Sample(&noise).action;
  std::map<int64_t, int64_t> counts;
  for (const double pair : Values(action.select(1, 0) * 10 + action.select(1, 1))) {
    ++counts[static_cast<int64_t>(pair)];
  }
  std::map<int64_t, double> weights;
  for (int64_t first = 0; first < 2; ++first) {
    for (int64_t second = 0; second < 3; ++second) {
      weights[first * 10 + second] = logits[0][first].exp().item<double>() * logits[0][2 + second].exp().item<double>();
    }
  }
  testing::CheckChiSquare(counts, weights);
}

TEST_CASE("choices beside real numbers are the sum of both", "[unit]") {
  const std::vector<int64_t> num_values = {2, 3};
  for (const torch::ScalarType type : kTypes) {
    for (const std::vector<int64_t>& leading : kLeading) {
      for (const bool masked : {false, true}) {
        const auto part = [&](int64_t last, uint64_t seed) { return Random(With(leading, last), seed).to(type); };
        const torch::Tensor logits = part(5, 20);
        const torch::Tensor mask = masked ? Mask(logits) : torch::Tensor();
        const torch::Tensor mean = part(2, 21);
        const torch::Tensor log_std = part(2, 22);
        const Distribution mixed = Distribution::Mixed(logits, num_values, mask, mean, log_std);
        const Distribution choices = Distribution::MultiCategorical(logits, num_values, mask);
        const Distribution reals = Distribution::Normal(mean, log_std);
        Noise noise(23, torch::kCPU);
        const SampledAction sampled = mixed.Sample(&noise);
        REQUIRE(sampled.action.sizes() == at::IntArrayRef(With(leading, 4)));
        REQUIRE(sampled.action.scalar_type() == type);
        const torch::Tensor chosen = sampled.action.narrow(-1, 0, 2).to(torch::kInt64);
        const torch::Tensor drawn = sampled.action.narrow(-1, 2, 2);
        CHECK(torch::equal(chosen.to(type), sampled.action.narrow(-1, 0, 2)));
        CHECK(torch::allclose(sampled.log_prob, choices.LogProb(chosen) + reals.LogProb(drawn), 1e-3, 1e-3));
        CHECK(torch::equal(mixed.LogProb(sampled.action), choices.LogProb(chosen) + reals.LogProb(drawn)));
        CHECK(torch::equal(mixed.Entropy(), choices.Entropy() + reals.Entropy()));
        CHECK(torch::equal(mixed.Mode(), torch::cat({choices.Mode().to(type), reals.Mode()}, -1)));
        const torch::Tensor other_logits = part(5, 24);
        const torch::Tensor other_mean = part(2, 25);
        CHECK(
            torch::equal(mixed.DivergenceFrom(Distribution::Mixed(other_logits, num_values, mask, other_mean, log_std)),
                         choices.DivergenceFrom(Distribution::MultiCategorical(other_logits, num_values, mask)) +
                             reals.DivergenceFrom(Distribution::Normal(other_mean, log_std))));
      }
    }
  }
  const torch::Tensor action = torch::tensor({{0.0, 1.0, 0.3}, {0.0, 2.0, -0.7}}, torch::kFloat64);
  CheckGradients(
      [&](const std::vector<torch::Tensor>& parameters) {
        const Distribution mixed =
            Distribution::Mixed(parameters[0], num_values, Mask(parameters[0]), parameters[1], parameters[2]);
        return mixed.LogProb(action) + 2 * mixed.Entropy();
      },
      {Random({2, 5}, 26), Random({2, 1}, 27), Random({2, 1}, 28)});
  const torch::Tensor two = torch::zeros({2, 2});
  CHECK_THROWS_AS(Distribution::Mixed(torch::zeros({3, 5}), num_values, {}, two, two), c10::Error);
  const Distribution mixed = Distribution::Mixed(torch::zeros({2, 5}), num_values, {}, two, two);
  CHECK_THROWS_AS(mixed.LogProb(torch::zeros({2, 2})), c10::Error);
  CHECK_THROWS_AS(mixed.LogProb(torch::zeros({2, 3})), c10::Error);
  CHECK_THROWS_AS(mixed.LogProbabilities(), c10::Error);
}

TEST_CASE("the log-probability of an impossible choice is NaN, in its row alone", "[unit]") {
  for (const torch::ScalarType dtype : kTypes) {
    const torch::Tensor logits = Random({3, 5}, 1).to(dtype);
    const torch::Tensor mean = Random({3, 1}, 2).to(dtype);
    const torch::Tensor mask = torch::ones({3, 5}, torch::kBool);
    const auto is_nan = [](const Distribution& distribution, const torch::Tensor& action) {
      return distribution.LogProb(action).isnan();
    };
    for (const torch::Tensor& legal : {torch::Tensor(), mask}) {
      const Distribution one = Distribution::Categorical(logits, legal);
      CHECK(
          is_nan(one, torch::tensor({int64_t{-1}, int64_t{4}, int64_t{5}})).equal(torch::tensor({true, false, true})));
      // Choices of three and of two: the third of two is no choice, although the first has three.
      const torch::Tensor several = torch::tensor({{2, 1}, {0, 2}, {3, 0}}, torch::kInt64);
      const torch::Tensor wanted = torch::tensor({false, true, true});
      CHECK(is_nan(Distribution::MultiCategorical(logits, {3, 2}, legal), several).equal(wanted));
      const Distribution mixed = Distribution::Mixed(logits, {3, 2}, legal, mean, torch::zeros_like(mean));
      CHECK(is_nan(mixed, torch::cat({several.to(dtype), mean}, -1)).equal(wanted));
      const torch::Tensor alike = torch::tensor({{1, 1}, {0, 2}, {-1, 0}}, torch::kInt64);
      CHECK(is_nan(Distribution::MultiCategorical(logits.narrow(-1, 0, 4), {2, 2}), alike).equal(wanted));
    }
  }
}

TEST_CASE("normal distributions agree with their densities, for any leading dimensions", "[unit]") {
  for (const torch::ScalarType type : kTypes) {
    for (const std::vector<int64_t>& leading : kLeading) {
      const torch::Tensor mean = Random(With(leading, 2), 10).to(type);
      const torch::Tensor log_std = Random(With(leading, 2), 11, 0.5).to(type);
      const torch::Tensor u = Random(With(leading, 2), 12).to(type);
      const Distribution normal = Distribution::Normal(mean, log_std);
      const Distribution squashed = Distribution::TanhNormal(mean, log_std);
      const torch::Tensor log_prob = normal.LogProb(u);
      const torch::Tensor squashed_log_prob = squashed.LogProb(u.tanh());
      REQUIRE(log_prob.sizes() == at::IntArrayRef(leading));
      REQUIRE(squashed_log_prob.sizes() == at::IntArrayRef(leading));
      const std::vector<double> means = Values(mean);
      const std::vector<double> log_stds = Values(log_std);
      const std::vector<double> us = Values(u);
      for (size_t row = 0; row < means.size() / 2; ++row) {
        double wanted = 0;
        double squashed_wanted = 0;
        double entropy = 0;
        for (size_t i = 2 * row; i < 2 * row + 2; ++i) {
          const double density = std::exp(NormalLogDensity(us[i], means[i], log_stds[i]));
          wanted += std::log(density);
          squashed_wanted += std::log(density / (1 - std::pow(std::tanh(us[i]), 2)));
          entropy += 0.5 * std::log(2 * M_PI * M_E * std::exp(2 * log_stds[i]));
        }
        CHECK(Values(log_prob)[row] == Approx(wanted).epsilon(1e-4));
        CHECK(Values(squashed_log_prob)[row] == Approx(squashed_wanted).epsilon(1e-4));
        CHECK(Values(normal.Entropy())[row] == Approx(entropy).epsilon(1e-5));
      }
      CHECK(torch::equal(normal.Mode(), mean));
      CHECK(torch::equal(squashed.Mode(), mean.tanh()));
      Noise noise(13, torch::kCPU);
      for (const Distribution& distribution : {normal, squashed}) {
        const SampledAction sampled = distribution.Sample(&noise);
        REQUIRE(sampled.action.sizes() == mean.sizes());
        CHECK(torch::allclose(sampled.log_prob, distribution.LogProb(sampled.action), 1e-3, 1e-3));
      }
    }
  }
}

// The integral over u of a function, by the midpoint rule.
template <class F>
double Integral(const F& function) {
  double sum = 0;
  for (double u = -40 + 5e-4; u < 40; u += 1e-3) {
    sum += function(u);
  }
  return sum * 1e-3;
}

TEST_CASE("the divergence of normals is the integral that defines it, from the other to this one", "[unit]") {
  const torch::Tensor means = torch::tensor({{0.3, -1.0}}, torch::kFloat64);
  const torch::Tensor log_stds = torch::tensor({{0.2, -0.4}}, torch::kFloat64);
  const torch::Tensor other_means = torch::tensor({{-0.5, 0.1}}, torch::kFloat64);
  const torch::Tensor other_log_stds = torch::tensor({{-0.3, 0.5}}, torch::kFloat64);
  double wanted = 0;
  for (int64_t i = 0; i < 2; ++i) {
    const auto at = [i](const torch::Tensor& tensor) { return tensor[0][i].item<double>(); };
    wanted += Integral([&, m = at(means), s = at(log_stds), om = at(other_means), os = at(other_log_stds)](double u) {
      const double log_p = NormalLogDensity(u, om, os);
      return std::exp(log_p) * (log_p - NormalLogDensity(u, m, s));
    });
  }
  for (const auto make : {&Distribution::Normal, &Distribution::TanhNormal}) {
    const Distribution distribution = make(means, log_stds);
    CHECK(distribution.DivergenceFrom(make(other_means, other_log_stds)).item<double>() ==
          Approx(wanted).epsilon(1e-6));
    CHECK(distribution.DivergenceFrom(distribution).item<double>() == 0);
  }
  // A shift of d standard deviations diverges by d^2 / 2, and one of log_std by d^2: float32 sees small ones.
  const torch::Tensor zero = torch::zeros({1, 1});
  const torch::Tensor little = torch::full({1, 1}, 1e-3F);
  const Distribution standard = Distribution::Normal(zero, zero);
  CHECK(standard.DivergenceFrom(Distribution::Normal(little, zero)).item<double>() == Approx(5e-7).epsilon(1e-3));
  CHECK(standard.DivergenceFrom(Distribution::Normal(zero, little)).item<double>() == Approx(1e-6).epsilon(0.1));
}

TEST_CASE("draws have the moments of their distributions", "[unit]") {
  Noise noise(14, torch::kCPU);
  const double count = 200000;
  const double mean = 0.4;
  const double log_std = -0.3;
  const torch::Tensor means = torch::full({200000, 1}, mean);
  const torch::Tensor log_stds = torch::full({200000, 1}, log_std);
  const auto expect = [&](const torch::Tensor& values, const std::function<double(double)>& function) {
    const auto moment = [&](int power) {
      return Integral(
          [&](double u) { return std::exp(NormalLogDensity(u, mean, log_std)) * std::pow(function(u), power); });
    };
    const double deviation = std::sqrt(moment(2) - moment(1) * moment(1));
    CHECK(std::abs(values.to(torch::kFloat64).mean().item<double>() - moment(1)) < 4 * deviation / std::sqrt(count));
  };
  const SampledAction normal = Distribution::Normal(means, log_stds).Sample(&noise);
  expect(normal.action, [](double u) { return u; });
  expect(normal.action.square(), [](double u) { return u * u; });
  expect(normal.log_prob, [&](double u) { return NormalLogDensity(u, mean, log_std); });
  const SampledAction squashed = Distribution::TanhNormal(means, log_stds).Sample(&noise);
  expect(squashed.action, [](double u) { return std::tanh(u); });
  expect(squashed.action.square(), [](double u) { return std::tanh(u) * std::tanh(u); });
  expect(squashed.log_prob, [&](double u) { return NormalLogDensity(u, mean, log_std) - LogTanhDerivative(u); });
}

TEST_CASE("draws side by side are those one after the other, and real elements have their moments", "[unit]") {
  const torch::Tensor mean = torch::randn({3, 2});
  const torch::Tensor log_std = torch::randn({3, 2});
  for (const Distribution& distribution : {Distribution::Normal(mean, log_std), Distribution::TanhNormal(mean, log_std),
                                           Distribution::Mixed(torch::randn({3, 4}), {4}, {}, mean, log_std)}) {
    CHECK(torch::equal(distribution.mean(), mean));
    CHECK(torch::equal(distribution.stddev(), log_std.exp()));
    Noise one(3, torch::kCPU);
    Noise other(3, torch::kCPU);
    const SampledAction all = distribution.Samples(4, &one);
    for (int64_t i = 0; i < 4; ++i) {
      const SampledAction single = distribution.Sample(&other);
      CHECK(torch::equal(all.action[i], single.action));
      CHECK(torch::equal(all.log_prob[i], single.log_prob));
    }
  }
  Noise noise(3, torch::kCPU);
  const Distribution fixed = Distribution::Deterministic(mean);
  CHECK(torch::equal(fixed.mean(), mean));
  CHECK(fixed.stddev().abs().max().item<double>() == 0);
  CHECK_FALSE(fixed.Samples(2, &noise).log_prob.defined());
  CHECK_THROWS_AS(Distribution::Categorical(mean).mean(), c10::Error);
  CHECK_THROWS_AS(Distribution::Categorical(mean).stddev(), c10::Error);
}

TEST_CASE("the tanh-normal is right if its actions round to the ends", "[unit]") {
  for (const torch::ScalarType type : kTypes) {
    for (const double u : {-30.0, -12.0, 12.0, 30.0}) {
      torch::Tensor mean = torch::full({1, 1}, u, type).requires_grad_();
      torch::Tensor log_std = torch::full({1, 1}, -5.0, type).requires_grad_();
      const Distribution distribution = Distribution::TanhNormal(mean, log_std);
      Noise noise(15, torch::kCPU);
      Noise same(15, torch::kCPU);
      const SampledAction sampled = distribution.Sample(&noise);
      const double epsilon = same.NormalLike(mean).item<double>();
      const double drawn = u + std::exp(-5) * epsilon;
      const double wanted = -0.5 * epsilon * epsilon + 5 - 0.5 * std::log(2 * M_PI) - LogTanhDerivative(drawn);
      CHECK(sampled.log_prob.item<double>() == Approx(wanted).epsilon(1e-6));
      const std::vector<torch::Tensor> gradients = torch::autograd::grad({sampled.log_prob.sum()}, {mean, log_std});
      CHECK(gradients[0].item<double>() == Approx(2 * std::tanh(drawn)).epsilon(1e-6));
      CHECK(gradients[1].item<double>() == Approx(-1 + 2 * std::tanh(drawn) * std::exp(-5) * epsilon).epsilon(1e-5));
      // At the very ends, and in float32 these are the ends, a density is still a number.
      for (const double end : {-1.0, 1.0}) {
        const torch::Tensor log_prob = distribution.LogProb(torch::full({1, 1}, end, type));
        CHECK(log_prob.isfinite().all().item<bool>());
        CHECK(torch::autograd::grad({log_prob.sum()}, {mean})[0].isfinite().all().item<bool>());
      }
    }
  }
}

TEST_CASE("gradients equal finite differences", "[unit]") {
  using Tensors = std::vector<torch::Tensor>;
  const torch::Tensor logits = Random({2, 3, 5}, 20);
  for (const torch::Tensor& mask : {torch::Tensor(), Mask(logits)}) {
    const torch::Tensor choices = torch::tensor({0, 2, 4, 0, 0, 3}).view({2, 3});
    const auto categorical = [&](const torch::Tensor& x) { return Distribution::Categorical(x, mask); };
    const auto both = [&](const torch::Tensor& x) { return Distribution::MultiCategorical(x, {2, 3}, mask); };
    const torch::Tensor pairs = torch::stack({choices.remainder(2), choices.remainder(3)}, -1);
    CheckGradients([&](const Tensors& p) { return categorical(p[0]).Entropy(); }, {logits});
    CheckGradients([&](const Tensors& p) { return both(p[0]).Entropy(); }, {logits});
    CheckGradients([&](const Tensors& p) { return categorical(p[0]).DivergenceFrom(categorical(p[1])); },
                   {logits, Random({2, 3, 5}, 21)});
    CheckGradients([&](const Tensors& p) { return both(p[0]).DivergenceFrom(both(p[1])); },
                   {logits, Random({2, 3, 5}, 21)});
    if (!mask.defined()) {
      CheckGradients([&](const Tensors& p) { return categorical(p[0]).LogProb(choices); }, {logits});
      CheckGradients([&](const Tensors& p) { return both(p[0]).LogProb(pairs); }, {logits});
    }
  }
  const Tensors parameters = {Random({2, 3, 2}, 22), Random({2, 3, 2}, 23, 0.5)};
  const Tensors four = {parameters[0], parameters[1], Random({2, 3, 2}, 24), Random({2, 3, 2}, 25, 0.5)};
  CheckGradients([&](const Tensors& p) { return Distribution::Normal(p[0], p[1]).Entropy(); }, parameters);
  for (const auto make : {&Distribution::Normal, &Distribution::TanhNormal}) {
    const auto sample = [&](const Tensors& p) {
      Noise noise(26, torch::kCPU);
      return make(p[0], p[1]).Sample(&noise);
    };
    CheckGradients([&](const Tensors& p) { return sample(p).action; }, parameters);
    CheckGradients([&](const Tensors& p) { return sample(p).log_prob; }, parameters);
    CheckGradients([&](const Tensors& p) { return make(p[0], p[1]).Mode(); }, {parameters[0], parameters[1]});
    CheckGradients([&](const Tensors& p) { return make(p[0], p[1]).LogProb(p[2]); },
                   {parameters[0], parameters[1], Random({2, 3, 2}, 27).tanh()});
    CheckGradients([&](const Tensors& p) { return make(p[0], p[1]).DivergenceFrom(make(p[2], p[3])); }, four);
  }
}

// In parameters that are the network's own outputs, it is the divergence's second derivative.
TEST_CASE("the Fisher information of a distribution is the curvature of the divergence from it", "[unit]") {
  torch::manual_seed(31);
  const torch::Tensor mean = torch::randn({3}, torch::kFloat64);
  const torch::Tensor log_std = torch::randn({3}, torch::kFloat64);
  const torch::Tensor logits = torch::randn({5}, torch::kFloat64);
  const auto mixed = [&](const torch::Tensor& means, const torch::Tensor& log_stds) {
    return Distribution::Mixed(logits, {3, 2}, {}, means, log_stds);
  };
  const std::vector<FisherBlock> blocks = mixed(mean, log_std).Fisher();
  REQUIRE(blocks.size() == 3);
  CHECK(torch::equal(blocks[0].parameters, mean));
  CHECK(torch::equal(blocks[1].parameters, log_std));
  for (int64_t i = 0; i < 3; ++i) {
    const torch::Tensor step = torch::zeros({3}, torch::kFloat64).index_fill(0, torch::tensor({i}), 1e-4);
    const auto curvature = [&](const Distribution& moved) {
      return 2 * moved.DivergenceFrom(mixed(mean, log_std)).item<double>() / 1e-8;
    };
    CHECK(blocks[0].information[i].item<double>() == Approx(curvature(mixed(mean + step, log_std))).epsilon(1e-3));
    CHECK(blocks[1].information[i].item<double>() == Approx(curvature(mixed(mean, log_std + step))).epsilon(1e-3));
  }
  // Of the logarithms of probabilities the probabilities, and nothing for impossible choices.
  CHECK(torch::equal(blocks[2].information, blocks[2].parameters.exp()));
  CHECK(torch::allclose(blocks[2].information.sum(-1), torch::ones({2}, torch::kFloat64)));
  CHECK_THROWS_AS(Distribution::Deterministic(mean).Fisher(), c10::Error);
}

TEST_CASE("a deterministic action is its own sample and mode, and has no density", "[unit]") {
  Noise noise(30, torch::kCPU);
  for (const torch::Tensor& action : {torch::ones({2, 3}), torch::ones({2}, torch::kInt64)}) {
    const Distribution distribution = Distribution::Deterministic(action);
    CHECK(torch::equal(distribution.Mode(), action));
    CHECK(torch::equal(distribution.Sample(&noise).action, action));
    CHECK_FALSE(distribution.Sample(&noise).log_prob.defined());
    CHECK_THROWS_AS(distribution.LogProb(action), c10::Error);
    CHECK_THROWS_AS(distribution.Entropy(), c10::Error);
    CHECK_THROWS_AS(distribution.DivergenceFrom(distribution), c10::Error);
  }
}

TEST_CASE("shapes and kinds that do not fit are refused", "[unit]") {
  const torch::Tensor two = torch::zeros({4, 2});
  const torch::Tensor legal = torch::ones({4, 2}, torch::kBool);
  CHECK_THROWS_AS(Distribution::Normal(two, torch::zeros({2})), c10::Error);
  CHECK_THROWS_AS(Distribution::TanhNormal(two, two.to(torch::kFloat64)), c10::Error);
  CHECK_THROWS_AS(Distribution::Categorical(two, legal[0]), c10::Error);
  CHECK_THROWS_AS(Distribution::Categorical(two.to(torch::kInt64)), c10::Error);
  CHECK_THROWS_AS(Distribution::MultiCategorical(two, {1, 2}), c10::Error);
  CHECK_THROWS_AS(Distribution::MultiCategorical(two, {2, 0}), c10::Error);
  CHECK_THROWS_AS(Distribution::Deterministic({}), c10::Error);

  const Distribution normal = Distribution::Normal(two, two);
  const Distribution categorical = Distribution::Categorical(two);
  const Distribution multiple = Distribution::MultiCategorical(two, {1, 1});
  CHECK_THROWS_AS(normal.LogProb(torch::zeros({4})), c10::Error);
  CHECK_THROWS_AS(categorical.LogProb(torch::zeros({4, 1}, torch::kInt64)), c10::Error);
  CHECK_THROWS_AS(multiple.LogProb(torch::zeros({4}, torch::kInt64)), c10::Error);
  CHECK_THROWS_AS(normal.DivergenceFrom(categorical), c10::Error);
  CHECK_THROWS_AS(normal.DivergenceFrom(Distribution::TanhNormal(two, two)), c10::Error);
  CHECK_THROWS_AS(normal.DivergenceFrom(Distribution::Normal(two[0], two[0])), c10::Error);
  CHECK_THROWS_AS(multiple.DivergenceFrom(Distribution::MultiCategorical(two, {2})), c10::Error);
  CHECK_THROWS_AS(Distribution::TanhNormal(two, two).Entropy(), c10::Error);
  CHECK_THROWS_AS(normal.LogProbabilities(), c10::Error);
}

}  // namespace
}  // namespace waggle
