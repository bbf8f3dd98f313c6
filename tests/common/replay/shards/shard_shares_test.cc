#include "common/replay/shards/shard_shares.h"

#include <cmath>
#include <numeric>

#include "tests/support/catch.h"

namespace waggle {
namespace {

int64_t Sum(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

}  // namespace

TEST_CASE("shards' draws add up, and their means follow the weights", "[unit]") {
  const bool independent = GENERATE(false, true);
  Rng rng(1);
  const std::vector<double> weights = {3, 0, 1, 0.5, 0};
  const std::vector<int64_t> caps(5, kNoCap);
  std::vector<int64_t> all(5);
  constexpr int kRounds = 20'000;
  for (int i = 0; i < kRounds; ++i) {
    const std::vector<int64_t> counts = SplitDraws(weights, caps, 10, independent, &rng);
    REQUIRE(Sum(counts) == 10);
    REQUIRE(counts[1] + counts[4] == 0);
    for (size_t j = 0; j < 5; ++j) {
      all[j] += counts[j];
      if (!independent) {
        REQUIRE(std::fabs(static_cast<double>(counts[j]) - 10 * weights[j] / 4.5) < 1);
      }
    }
  }
  // Five standard deviations of independent draws.
  for (size_t j = 0; j < 5; ++j) {
    const double p = weights[j] / 4.5;
    REQUIRE(std::fabs(static_cast<double>(all[j]) - kRounds * 10 * p) <= 5 * std::sqrt(kRounds * 10 * p * (1 - p)));
  }
}

TEST_CASE("draws above a shard's cap fall to the others", "[unit]") {
  const bool independent = GENERATE(false, true);
  Rng rng(2);
  for (int i = 0; i < 200; ++i) {
    const std::vector<int64_t> counts =
        SplitDraws(std::vector<double>{100, 1, 1e-9}, std::vector<int64_t>{2, 3, 9}, 12, independent, &rng);
    REQUIRE(Sum(counts) == 12);
    REQUIRE(counts[0] == 2);
    REQUIRE(counts[1] <= 3);
  }
}

TEST_CASE("counts leave equal remainders of the shards' allowances", "[unit]") {
  REQUIRE(SplitCounts(std::vector<int64_t>{10, 4, 7}, 6) == std::vector<int64_t>{5, 0, 1});
  REQUIRE(SplitCounts(std::vector<int64_t>{10, 4, 7}, 21) == std::vector<int64_t>{10, 4, 7});
  REQUIRE(SplitCounts(std::vector<int64_t>{10, 4, 7}, 100) == std::vector<int64_t>{10, 4, 7});
  REQUIRE(SplitCounts(std::vector<int64_t>{0, 0}, 3) == std::vector<int64_t>{0, 0});
  REQUIRE(SplitCounts(std::vector<int64_t>{5, 5, 5}, 4) == std::vector<int64_t>{2, 1, 1});
  REQUIRE(SplitCounts(std::vector<int64_t>{kNoCap, 3}, 8) == std::vector<int64_t>{8, 0});
  REQUIRE(SplitCounts(std::vector<int64_t>{}, 8).empty());
}

TEST_CASE("counts never exceed what is allowed, and add up", "[unit]") {
  Rng rng(3);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int64_t> allowed;
    for (uint64_t i = 0; i < 1 + rng.UniformInt(6); ++i) {
      allowed.push_back(static_cast<int64_t>(rng.UniformInt(30)));
    }
    const auto total = static_cast<int64_t>(rng.UniformInt(100));
    const std::vector<int64_t> counts = SplitCounts(allowed, total);
    REQUIRE(Sum(counts) == std::min(total, Sum(allowed)));
    int64_t least_of_used = kNoCap;
    int64_t most = 0;
    for (size_t i = 0; i < allowed.size(); ++i) {
      REQUIRE(counts[i] >= 0);
      REQUIRE(counts[i] <= allowed[i]);
      most = std::max(most, allowed[i] - counts[i]);
      if (counts[i] > 0) {
        least_of_used = std::min(least_of_used, allowed[i] - counts[i]);
      }
    }
    REQUIRE((least_of_used == kNoCap || most - least_of_used <= 1));
  }
}

TEST_CASE("equal parts go to the shards that take part, and the remainder goes round", "[unit]") {
  REQUIRE(SplitEqually({true, false, true}, 5, 0) == std::vector<int64_t>{3, 0, 2});
  REQUIRE(SplitEqually({true, false, true}, 5, 1) == std::vector<int64_t>{2, 0, 3});
  REQUIRE(SplitEqually({false}, 5, 1) == std::vector<int64_t>{0});
}

}  // namespace waggle
