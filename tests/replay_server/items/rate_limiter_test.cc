#include "replay_server/items/rate_limiter.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

RateLimiterConfig Config(double samples_per_insert, int64_t min_items, double error_buffer) {
  RateLimiterConfig config;
  config.samples_per_insert = samples_per_insert;
  config.min_items = min_items;
  config.error_buffer = error_buffer;
  return config;
}

}  // namespace

TEST_CASE("without a ratio only min_items holds samples", "[unit]") {
  RateLimiter limiter(Config(0, 10, 0));
  REQUIRE_FALSE(limiter.CanSample(9, 1));
  REQUIRE(limiter.CanSample(10, 1000));
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(limiter.CanInsert(i));
    limiter.CountInsert();
  }
}

TEST_CASE("the limiter keeps samples per insert within its error buffer", "[unit]") {
  RateLimiter limiter(Config(4, 10, 20));
  int64_t items = 0;
  // Up to min_items inserts are always allowed, then up to c = 40 + 20: 15 inserts.
  while (limiter.CanInsert(items)) {
    limiter.CountInsert();
    ++items;
  }
  REQUIRE(items == 15);
  // Samples until c - 8 >= 40 - 20 fails: 60 - 8 n >= 20 allows 5 batches.
  int batches = 0;
  while (limiter.CanSample(items, 8)) {
    limiter.CountSamples(8);
    ++batches;
  }
  REQUIRE(batches == 5);
  REQUIRE(limiter.inserts() == 15);
  REQUIRE(limiter.samples() == 40);
  REQUIRE(limiter.CanInsert(items));
}

TEST_CASE("a batch that counts nothing only needs min_items", "[unit]") {
  RateLimiterConfig config;
  config.samples_per_insert = 1;
  config.min_items = 2;
  config.min_difference = 10;
  config.max_difference = 20;
  RateLimiter limiter(config);
  CHECK_FALSE(limiter.CanSample(1, 0));
  CHECK(limiter.CanSample(2, 0));
  CHECK_FALSE(limiter.CanSample(2, 1));
}

TEST_CASE("a limiter gives a reason exactly if it holds something up", "[unit]") {
  RateLimiter limiter(Config(4, 10, 20));
  CHECK(limiter.WhyNoInsert(0).empty());
  CHECK_FALSE(limiter.WhyNoSample(3, 8).empty());
  for (int i = 0; i < 15; ++i) {
    limiter.CountInsert();
  }
  CHECK_FALSE(limiter.WhyNoInsert(15).empty());
  CHECK(limiter.WhyNoSample(15, 8).empty());
  limiter.CountSamples(40);
  CHECK_FALSE(limiter.WhyNoSample(15, 8).empty());
}

namespace {

// True if some order of inserts and batches ends where neither is allowed. There are few states: the credit, and the
// number of items up to min_items.
bool CanGetStuck(const RateLimiterConfig& config, int64_t batch) {
  std::set<std::pair<int64_t, double>> seen;
  std::vector<std::pair<int64_t, int64_t>> next = {{0, 0}};  // Inserts and samples.
  while (!next.empty()) {
    const auto [inserts, samples] = next.back();
    next.pop_back();
    const double credit = static_cast<double>(inserts) * config.samples_per_insert - static_cast<double>(samples);
    if (!seen.emplace(std::min(inserts, config.min_items), credit).second) {
      continue;
    }
    RateLimiter limiter(config);
    for (int64_t i = 0; i < inserts; ++i) {
      limiter.CountInsert();
    }
    limiter.CountSamples(samples);
    const bool insert = limiter.CanInsert(inserts);
    const bool sample = limiter.CanSample(inserts, batch);
    if (insert) {
      next.emplace_back(inserts + 1, samples);
    }
    if (sample) {
      next.emplace_back(inserts, samples + batch);
    }
    if (!insert && !sample) {
      return true;
    }
  }
  return false;
}

// The greatest common divisor.
double Lattice(double a, double b) {
  while (b > 0) {
    a = std::exchange(b, std::fmod(a, b));
  }
  return a;
}

}  // namespace

TEST_CASE("a limiter refuses the batch sizes that could block both sides, and hardly any other", "[unit]") {
  for (const double samples_per_insert : {0.25, 1.0, 3.0, 8.0}) {
    for (const int64_t batch : {1, 2, 7, 16}) {
      // Credits move on a lattice. A refused buffer may be enough by up to half of a step, but no more.
      const double step = Lattice(samples_per_insert, static_cast<double>(batch)) / 2;
      bool was_allowed = false;
      for (int i = 0; i * step <= samples_per_insert + static_cast<double>(batch); ++i) {
        const RateLimiterConfig config = Config(samples_per_insert, 5, i * step);
        CAPTURE(samples_per_insert, batch, config.error_buffer);
        const absl::Status status = RateLimiter(config).CheckBatchSize(batch);
        if (status.ok()) {
          REQUIRE_FALSE(CanGetStuck(config, batch));
          if (!std::exchange(was_allowed, true) && i >= 2) {
            REQUIRE(CanGetStuck(Config(samples_per_insert, 5, (i - 2) * step), batch));
          }
        } else {
          REQUIRE_FALSE(was_allowed);
          REQUIRE(status.code() == absl::StatusCode::kFailedPrecondition);
        }
      }
      REQUIRE(was_allowed);
    }
  }
}

namespace {

// A limiter after a run that inserts whenever it may, and otherwise samples a batch.
RateLimiter RunFor(int64_t inserts, const RateLimiterConfig& config) {
  RateLimiter limiter(config);
  while (limiter.inserts() < inserts) {
    if (limiter.CanInsert(limiter.inserts())) {
      limiter.CountInsert();
    } else {
      REQUIRE(limiter.CanSample(limiter.inserts(), 8));
      limiter.CountSamples(8);
    }
  }
  return limiter;
}

}  // namespace

TEST_CASE("a changed ratio counts from the change", "[unit]") {
  const double ratio = GENERATE(0.25, 1.0, 64.0);
  RateLimiter limiter = RunFor(100000, Config(8, 100, 200));
  const RateLimiterConfig changed = Config(ratio, 100, 300);
  limiter.Reconfigure(changed, 1000);
  CHECK(limiter.Difference() >= changed.MinDifference());
  CHECK(limiter.Difference() <= changed.MaxDifference());
  const double before = limiter.Difference();
  int64_t inserts = 0;
  int64_t samples = 0;
  for (int i = 0; i < 10000; ++i) {
    if (limiter.CanSample(1000, 8)) {
      limiter.CountSamples(8);
      samples += 8;
    }
    if (limiter.CanInsert(1000)) {
      limiter.CountInsert();
      ++inserts;
    }
  }
  CHECK(samples > 0);
  CHECK(limiter.Difference() == Approx(before + ratio * static_cast<double>(inserts) - static_cast<double>(samples)));
}

TEST_CASE("a ratio that changes while the table fills counts from the start", "[unit]") {
  RateLimiter limiter = RunFor(50, Config(1, 100, 20));
  limiter.Reconfigure(Config(8, 100, 160), 50);
  for (int64_t items = 50; items < 100; ++items) {
    REQUIRE(limiter.CanInsert(items));
    limiter.CountInsert();
  }
  RateLimiter fresh(Config(8, 100, 160));
  for (int64_t items = 0; items < 100; ++items) {
    fresh.CountInsert();
  }
  CHECK(limiter.Difference() == fresh.Difference());
}

TEST_CASE("a first ratio starts in the middle of its bounds", "[unit]") {
  RateLimiter limiter(Config(0, 10, 0));
  for (int i = 0; i < 5000; ++i) {
    limiter.CountInsert();
  }
  limiter.Reconfigure(Config(4, 10, 40), 5000);
  CHECK(limiter.SamplesAllowed() == 40);
  CHECK(limiter.InsertsAllowed(5000) == 10);
}

TEST_CASE("a changed ratio is restored in another limiter", "[unit]") {
  RateLimiter limiter = RunFor(1000, Config(8, 100, 200));
  limiter.Reconfigure(Config(2, 100, 200), 1000);
  RateLimiter other(Config(2, 100, 200));
  other.Restore(limiter.inserts(), limiter.samples(), limiter.carried());
  CHECK(other.Difference() == limiter.Difference());
}

TEST_CASE("other bounds of the same ratio change no count", "[unit]") {
  RateLimiter limiter = RunFor(1000, Config(8, 100, 200));
  const double before = limiter.Difference();
  RateLimiterConfig given = Config(8, 100, 0);
  given.min_difference = 600;
  given.max_difference = 1000;
  limiter.Reconfigure(given, 1000);
  CHECK(limiter.Difference() == before);
  limiter.Reconfigure(Config(8, 100, 400), 1000);
  CHECK(limiter.Difference() == before);
}

TEST_CASE("another min_items does not hold a table that has enough items", "[unit]") {
  RateLimiter limiter = RunFor(100000, Config(8, 1000, 200));
  limiter.Reconfigure(Config(8, GENERATE(100, 50000), 200), 100000);
  CHECK(limiter.SamplesAllowed() + 8 * limiter.InsertsAllowed(100000) > 200);
  CHECK(limiter.SamplesAllowed() <= 400);
}

TEST_CASE("no changed ratio blocks inserts and batches at once", "[unit]") {
  const double from = GENERATE(0.0, 0.5, 1.0, 1.5);
  for (int range = 1; range <= 12; ++range) {
    for (int lowest = -3; lowest <= 3; ++lowest) {
      for (int batch = 1; batch <= range; ++batch) {
        RateLimiterConfig to = Config(1, 1, 0);
        to.min_difference = lowest;
        to.max_difference = lowest + range;
        if (!to.WhyStuck(batch).empty()) {
          continue;
        }
        RateLimiter limiter(Config(from, 1, 8));
        for (int i = 0; i < 7; ++i) {
          limiter.CountInsert();
        }
        limiter.CountSamples(5);
        limiter.Reconfigure(to, 7);
        for (int step = 0; step < 100; ++step) {
          CAPTURE(from, range, lowest, batch, step, limiter.Difference());
          REQUIRE((limiter.CanInsert(7) || limiter.CanSample(7, batch)));
          if (limiter.CanInsert(7)) {
            limiter.CountInsert();
          } else {
            limiter.CountSamples(batch);
          }
        }
      }
    }
  }
}

}  // namespace waggle
