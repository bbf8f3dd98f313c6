#include "actor/acting/unroll_share.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("shares of actors without holes add up to the unrolls of a learner step", "[unit]") {
  for (int64_t unrolls = 1; unrolls <= 12; ++unrolls) {
    for (int64_t actors = 1; actors <= unrolls; ++actors) {
      int64_t sum = 0;
      for (int64_t index = 0; index < actors; ++index) {
        const int64_t share = UnrollShare(unrolls, index, actors);
        CHECK(share >= unrolls / actors);
        CHECK(share <= (unrolls + actors - 1) / actors);
        sum += share;
      }
      CHECK(sum == unrolls);
    }
  }
}

TEST_CASE("shares of some of the actors are enough for a learner step, whichever they are", "[unit]") {
  constexpr int64_t kActors = 6;
  for (int64_t unrolls = kActors; unrolls <= 3 * kActors; ++unrolls) {
    for (int64_t living = 1; living < 1 << kActors; ++living) {
      const int64_t actors = __builtin_popcountll(static_cast<uint64_t>(living));
      int64_t sum = 0;
      for (int64_t index = 0; index < kActors; ++index) {
        sum += (living >> index & 1) != 0 ? UnrollShare(unrolls, index, actors) : 0;
      }
      CHECK(sum >= unrolls);
    }
  }
}

TEST_CASE("more actors than unrolls act one each", "[unit]") {
  CHECK(UnrollShare(2, 0, 3) == 1);
  CHECK(UnrollShare(2, 2, 3) == 1);
}

TEST_CASE("only elastic actors' shares depend on the number of living actors", "[unit]") {
  Experiment experiment;
  experiment.actor.lanes = 4;
  experiment.actor.processes = 3;
  experiment.learner.processes = 2;
  experiment.learner.batch_size = 6;  // 3 unrolls of each lane of an actor, of 12.
  int64_t living = 1;
  experiment.actor.least_processes = 3;
  CHECK(UnrollsPerVersion(experiment, 2, [&] { return living; })() == 1);
  experiment.actor.least_processes = 1;
  const std::function<int64_t()> share = UnrollsPerVersion(experiment, 0, [&] { return living; });
  CHECK(share() == 3);
  living = 2;
  CHECK(share() == 2);
  living = 3;
  CHECK(share() == 1);
}

}  // namespace
}  // namespace waggle
