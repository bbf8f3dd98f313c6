#include "replay_server/table/rate_limiter.h"

#include "absl/strings/match.h"
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

TEST_CASE("without a ratio only the smallest number of items holds", "[unit]") {
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

TEST_CASE("a limiter says in words what it waits for", "[unit]") {
  RateLimiter limiter(Config(4, 10, 20));
  REQUIRE(limiter.WhyNoInsert(0).empty());
  REQUIRE(absl::StrContains(limiter.WhyNoSample(3, 8), "7 more items"));
  for (int i = 0; i < 15; ++i) {
    limiter.CountInsert();
  }
  REQUIRE(absl::StrContains(limiter.WhyNoInsert(15), "4 more samples"));
  REQUIRE(limiter.WhyNoSample(15, 8).empty());
  limiter.CountSamples(40);
  REQUIRE(absl::StrContains(limiter.WhyNoSample(15, 8), "2 more inserts"));
}

TEST_CASE("a limiter refuses exactly the batch sizes that could block both sides", "[unit]") {
  for (const double samples_per_insert : {0.25, 1.0, 3.0, 32.0}) {
    for (const double error_buffer : {1.0, 4.0, 17.0, 40.0}) {
      for (const int64_t batch : {1, 2, 7, 32, 64}) {
        CAPTURE(samples_per_insert, error_buffer, batch);
        const RateLimiterConfig config = Config(samples_per_insert, 5, error_buffer);
        // Plays both sides against each other, inserts first, and sees whether they get stuck.
        RateLimiter limiter(config);
        bool stuck = false;
        int64_t items = 0;
        for (int i = 0; i < 5000 && !stuck; ++i) {
          stuck = true;
          if (limiter.CanInsert(items)) {
            limiter.CountInsert();
            ++items;
            stuck = false;
          }
          if (limiter.CanSample(items, batch)) {
            limiter.CountSamples(batch);
            stuck = false;
          }
        }
        const absl::Status status = RateLimiter(config).CheckBatchSize(batch);
        if (stuck) {
          REQUIRE(status.code() == absl::StatusCode::kFailedPrecondition);
          REQUIRE(absl::StrContains(status.message(), "error_buffer"));
        } else {
          // What is refused may still get by in one order of events; what is allowed must in all.
          REQUIRE((status.ok() || 2 * error_buffer < samples_per_insert + static_cast<double>(batch)));
        }
      }
    }
  }
}

}  // namespace waggle
