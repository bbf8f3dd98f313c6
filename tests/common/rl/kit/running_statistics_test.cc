#include "common/rl/kit/running_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "common/rl/kit/noise.h"
#include "tests/support/catch.h"
#include "tests/support/state_copy.h"

namespace waggle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The weighted mean and population variance of one element, in two passes over all batches.
struct Moments {
  double mean = 0;
  double variance = 0;
};

// `weights` are by batch, for one row.
Moments TwoPasses(const std::vector<torch::Tensor>& batches, int64_t element, const std::vector<double>& weights) {
  const auto visit = [&](const auto& add) {
    for (size_t i = 0; i < batches.size(); ++i) {
      const torch::Tensor values = batches[i].to(torch::kFloat64).flatten(1).select(1, element).contiguous();
      for (int64_t row = 0; row < values.numel(); ++row) {
        add(values.data_ptr<double>()[row], weights[i]);
      }
    }
  };
  double all = 0;
  double sum = 0;
  visit([&](double value, double weight) {
    all += weight;
    sum += weight * value;
  });
  double squares = 0;
  visit([&](double value, double weight) { squares += weight * std::pow(value - sum / all, 2); });
  return {sum / all, squares / all};
}

NormalizerSpec Average(const std::string& average) {
  NormalizerSpec spec;
  spec.average = average;
  spec.window = 3;
  spec.rate = 0.2;
  spec.speed = 2;
  return spec;
}

// By batch, the weight of a row, as the options define it.
std::vector<double> Weights(const std::vector<torch::Tensor>& batches, const NormalizerSpec& spec) {
  std::vector<double> weights;
  double rows_before = 0;
  for (size_t i = 0; i < batches.size(); ++i) {
    const double rows = static_cast<double>(batches[i].size(0));
    double before = 0;
    for (size_t j = 0; j < i; ++j) {
      before += weights[j] * static_cast<double>(batches[j].size(0));
    }
    double share = rows / (before + rows);
    if (spec.average == "window") {
      if (i >= static_cast<size_t>(spec.window)) {
        weights[i - static_cast<size_t>(spec.window)] = 0;
      }
      share = 0;
    } else if (spec.average == "exponential") {
      share = std::max(share, spec.rate);
    } else if (spec.average == "adaptive") {
      share = spec.speed * rows / (spec.speed * rows + rows_before);
    }
    if (share > 0 && before > 0) {
      for (double& weight : weights) {
        weight *= (1 - share) / share * rows / before;
      }
    }
    weights.push_back(1);
    rows_before += rows;
  }
  return weights;
}

std::vector<torch::Tensor> Batches(double offset, torch::ScalarType type, Noise* noise) {
  std::vector<torch::Tensor> batches;
  for (const int64_t rows : {1, 5, 64, 2, 300, 1, 17}) {
    const torch::Tensor scale = torch::tensor({1.0, 0.01, 300.0, 5.0, 0.0, 2.0}, torch::kFloat64).view({2, 3});
    const torch::Tensor drift = torch::full({}, static_cast<double>(batches.size()), torch::kFloat64);
    batches.push_back(
        ((noise->NormalLike(torch::empty({rows, 2, 3}, torch::kFloat64)) + drift) * scale + offset).to(type));
  }
  return batches;
}

TEST_CASE("batches of different sizes give what two passes over all of them do", "[unit]") {
  Noise noise(1, torch::kCPU);
  for (const torch::ScalarType type : {torch::kFloat32, torch::kFloat64}) {
    for (const double offset : {0.0, 1e6, -1e9}) {
      for (const char* const average : {"all", "window", "exponential", "adaptive"}) {
        const std::vector<torch::Tensor> batches = Batches(offset, type, &noise);
        const std::vector<double> weights = Weights(batches, Average(average));
        RunningStatistics statistics({2, 3}, torch::kCPU, Average(average));
        for (const torch::Tensor& batch : batches) {
          statistics.Update(batch);
          statistics.Update(batch.narrow(0, 0, 0));  // No rows.
        }
        for (int64_t i = 0; i < 6; ++i) {
          INFO("offset " << offset << ", average " << average << ", element " << i);
          const Moments wanted = TwoPasses(batches, i, weights);
          CHECK(statistics.mean().flatten()[i].item<double>() == Approx(wanted.mean).epsilon(1e-12).margin(1e-12));
          CHECK(statistics.variance().flatten()[i].item<double>() ==
                Approx(wanted.variance).epsilon(1e-6).margin(1e-9));
        }
      }
    }
  }
}

TEST_CASE("a number that is not finite leaves a window with its batch", "[unit]") {
  RunningStatistics statistics({}, torch::kCPU, Average("window"));
  statistics.Update(torch::full({2}, kInfinity));
  CHECK_FALSE(std::isfinite(statistics.mean().item<double>()));
  for (int i = 0; i < 3; ++i) {
    statistics.Update(torch::full({2}, 5.0));
  }
  CHECK(statistics.mean().item<double>() == 5);
}

TEST_CASE("normalised values have mean 0 and variance 1, and are clipped", "[unit]") {
  Noise noise(2, torch::kCPU);
  RunningStatistics statistics({3}, torch::kCPU);
  const torch::Tensor scale = torch::tensor({2.0, 0.5, 40.0});
  const torch::Tensor x = noise.NormalLike(torch::empty({500, 3})) * scale + 100;
  statistics.Update(x);
  const torch::Tensor normal = statistics.Normalize(x.view({5, 100, 3}), kInfinity).view({500, 3});
  REQUIRE(normal.scalar_type() == torch::kFloat32);
  CHECK(torch::allclose(normal.mean(0), torch::zeros({3}), 0, 1e-4));
  CHECK(torch::allclose(normal.square().mean(0), torch::ones({3}), 1e-4));
  CHECK(normal.abs().max().item<double>() > 2);
  CHECK(torch::equal(statistics.Normalize(x, 1.5), normal.clamp(-1.5, 1.5)));
  CHECK(torch::allclose(statistics.Scale(x), x / x.std(0, /*unbiased=*/false), 1e-4));
}

TEST_CASE("pixels become float32, and float64 stays", "[unit]") {
  RunningStatistics statistics({2}, torch::kCPU);
  const torch::Tensor pixels = torch::tensor({0, 255, 255, 255}, torch::kUInt8).view({2, 2});
  statistics.Update(pixels);
  const torch::Tensor normal = statistics.Normalize(pixels, 10);
  CHECK(normal.scalar_type() == torch::kFloat32);
  CHECK(torch::allclose(normal, torch::tensor({{-1.0F, 0.0F}, {1.0F, 0.0F}})));
  CHECK(statistics.Normalize(pixels.to(torch::kFloat64), 10).scalar_type() == torch::kFloat64);
  CHECK(statistics.Scale(pixels).scalar_type() == torch::kFloat32);
}

TEST_CASE("before there are rows, nothing is shifted or scaled", "[unit]") {
  const RunningStatistics statistics({2}, torch::kCPU);
  const torch::Tensor x = torch::tensor({{3.0F, -4.0F}});
  CHECK(torch::allclose(statistics.Normalize(x, 10), x));
  CHECK(torch::allclose(statistics.Scale(x), x));
  CHECK(torch::equal(statistics.mean(), torch::zeros({2}, torch::kFloat64)));
  CHECK(torch::equal(statistics.variance(), torch::ones({2}, torch::kFloat64)));
}

TEST_CASE("statistics go on from a checkpoint", "[unit]") {
  for (const char* const average : {"all", "window", "exponential", "adaptive"}) {
    INFO(average);
    Noise noise(3, torch::kCPU);
    const std::vector<torch::Tensor> batches = Batches(10, torch::kFloat32, &noise);
    RunningStatistics saved({2, 3}, torch::kCPU, Average(average));
    saved.Update(batches[4]);
    saved.Update(batches[1]);
    testing::StateCopy checkpoint;
    saved.VisitState(checkpoint.Saver());
    RunningStatistics restored({2, 3}, torch::kCPU, Average(average));
    restored.Update(batches[2]);
    restored.VisitState(checkpoint.Loader());
    for (const size_t next : {0, 2, 3, 5, 6}) {
      CHECK(torch::equal(saved.state(), restored.state()));
      CHECK(torch::equal(saved.Normalize(batches[0], 5), restored.Normalize(batches[0], 5)));
      saved.Update(batches[next]);
      restored.Update(batches[next]);
    }
  }
}

TEST_CASE("statistics begin with the published ones elsewhere, as with a first batch", "[unit]") {
  for (const char* const average : {"all", "window", "exponential", "adaptive"}) {
    INFO(average);
    Noise noise(3, torch::kCPU);
    const std::vector<torch::Tensor> batches = Batches(10, torch::kFloat32, &noise);
    RunningStatistics published({2, 3}, torch::kCPU, Average(average));
    published.Update(batches[4]);
    RunningStatistics loaded({2, 3}, torch::kCPU, Average(average));
    loaded.Update(batches[2]);
    REQUIRE(published.state().sizes() == at::IntArrayRef({13}));
    loaded.Load(published.state());
    CHECK(torch::equal(published.state(), loaded.state()));
    loaded.Update(batches[5]);
    published.Update(batches[5]);
    if (average != std::string("adaptive")) {
      CHECK(torch::allclose(published.state(), loaded.state()));
    }
    published.Update(batches[0]);  // Loaded statistics are copies.
    CHECK_FALSE(torch::equal(published.state(), loaded.state()));
  }
}

TEST_CASE("other shapes are refused with what was got and wanted", "[unit]") {
  RunningStatistics statistics({2, 3}, torch::kCPU);
  CHECK_THROWS_AS(statistics.Update(torch::ones({2, 3})), c10::Error);
  CHECK_THROWS_AS(statistics.Update(torch::ones({7, 3, 2})), c10::Error);
  CHECK_THROWS_AS(statistics.Normalize(torch::ones({3}), 1), c10::Error);
  CHECK_THROWS_AS(statistics.Normalize(torch::ones({2, 3}), 0), c10::Error);
  CHECK_THROWS_AS(statistics.Load(torch::ones({13})), c10::Error);
}

}  // namespace
}  // namespace waggle
