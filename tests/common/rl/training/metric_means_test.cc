#include "common/rl/training/metric_means.h"

#include <limits>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;
using Means = std::map<std::string, double>;

torch::Tensor Scalar(double value, torch::ScalarType type = torch::kFloat32) {
  return torch::full({}, value, torch::dtype(type));
}

TEST_CASE("the mean of each metric is over the updates that had it", "[unit]") {
  MetricMeans means;
  REQUIRE_OK(means.Add({{"loss", Scalar(1)}, {"q", Scalar(-4)}}));
  REQUIRE_OK(means.Add({{"loss", Scalar(2)}}));
  REQUIRE_OK(means.Add({{"loss", Scalar(6)}, {"q", Scalar(-8)}}));
  REQUIRE_OK(means.Add({}));
  CHECK(ValueOf(means.Take()) == Means{{"loss", 3}, {"q", -6}});
}

TEST_CASE("each mean begins anew, and a metric without updates since then has none", "[unit]") {
  MetricMeans means;
  CHECK(ValueOf(means.Take()).empty());
  REQUIRE_OK(means.Add({{"loss", Scalar(1)}, {"rare", Scalar(5)}}));
  CHECK(ValueOf(means.Take()).size() == 2);
  REQUIRE_OK(means.Add({{"loss", Scalar(7)}}));
  CHECK(ValueOf(means.Take()) == Means{{"loss", 7}});
  CHECK(ValueOf(means.Take()).empty());
}

TEST_CASE("a tensor that the next update overwrites was counted as it was", "[unit]") {
  MetricMeans means;
  torch::Tensor norm = Scalar(2);
  REQUIRE_OK(means.Add({{"norm", norm}}));
  norm.fill_(100);
  CHECK(ValueOf(means.Take()) == Means{{"norm", 2}});
}

TEST_CASE("a metric of NaN stays NaN", "[unit]") {
  MetricMeans means;
  REQUIRE_OK(means.Add({{"x", Scalar(std::numeric_limits<double>::infinity())}}));
  REQUIRE_OK(means.Add({{"x", Scalar(1)}}));
  CHECK(ValueOf(means.Take()).at("x") == std::numeric_limits<double>::infinity());
}

TEST_CASE("a metric that is not a scalar is an error", "[unit]") {
  MetricMeans means;
  CHECK_FALSE(means.Add({{"x", torch::zeros({2})}}).ok());
}

}  // namespace
}  // namespace waggle
