#include "replay_server/selectors/smallest_weight.h"

#include <algorithm>

#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

double Naive(const SumTree& tree, size_t begin, size_t end) {
  double smallest = 0;
  for (size_t leaf = begin; leaf < end; ++leaf) {
    if (tree.Get(leaf) > 0 && (smallest == 0 || tree.Get(leaf) < smallest)) {
      smallest = tree.Get(leaf);
    }
  }
  return smallest;
}

TEST_CASE("the smallest weight of a tree without weights is 0", "[unit]") {
  SumTree tree(10);
  SmallestWeight smallest;
  CHECK(smallest.Of(tree) == 0);
  CHECK(smallest.Of(tree, 2, 8) == 0);
}

TEST_CASE("the smallest weight of all leaves and of some is exact while weights come, change and go", "[unit]") {
  const size_t leaves = GENERATE(5, 64, 1000, 10000);
  SumTree tree(leaves);
  SmallestWeight smallest;
  Rng rng(3);
  for (int step = 0; step < 5000; ++step) {
    const size_t leaf = rng.UniformInt(leaves);
    const double weight = rng.UniformInt(3) == 0 ? 0 : static_cast<double>(1 + rng.UniformInt(50)) / 7;
    smallest.Change(leaf, tree.Get(leaf), weight);
    tree.SetLater(leaf, weight);
    if (step == 4000) {
      smallest.Restart(tree);
    }
    if (rng.UniformInt(10) == 0) {
      REQUIRE(smallest.Of(tree) == Naive(tree, 0, leaves));
      const size_t begin = rng.UniformInt(leaves);
      const size_t end = begin + rng.UniformInt(leaves - begin + 1);
      REQUIRE(smallest.Of(tree, begin, end) == Naive(tree, begin, end));
    }
  }
}

}  // namespace
}  // namespace waggle
