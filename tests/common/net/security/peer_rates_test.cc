#include "common/net/security/peer_rates.h"

#include "absl/strings/str_cat.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Each peer has a burst, and then the rate, whatever the others do", "[unit]") {
  absl::Time now = absl::UnixEpoch();
  PeerRates rates({/*per_second=*/2, /*burst=*/5}, [&now] { return now; });
  const auto taken = [&rates](const std::string& peer, int tries) {
    int count = 0;
    for (int i = 0; i < tries; ++i) {
      count += rates.Take(peer) ? 1 : 0;
    }
    return count;
  };
  CHECK(taken("a", 100) == 5);
  CHECK(taken("b", 3) == 3);
  now += absl::Seconds(1);
  CHECK(taken("a", 100) == 2);
  CHECK(taken("b", 100) == 4);
  now += absl::Hours(1);
  CHECK(taken("a", 100) == 5);  // A burst does not grow.
}

TEST_CASE("The number of remembered peers is bounded, and a peer beyond its rate is not the first forgotten",
          "[unit]") {
  absl::Time now = absl::UnixEpoch();
  PeerRates rates({/*per_second=*/1, /*burst=*/10, /*max_peers=*/100}, [&now] { return now; });
  for (int i = 0; i < 99; ++i) {
    REQUIRE(rates.Take(absl::StrCat("quiet ", i)));
  }
  now += absl::Seconds(5);
  while (rates.Take("loud")) {
  }
  for (int i = 0; i < 99; ++i) {
    REQUIRE(rates.Take(absl::StrCat("new ", i)));
    REQUIRE_FALSE(rates.Take("loud"));
  }
}

}  // namespace
}  // namespace waggle
