#include "replay_server/selectors/sum_tree.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "common/base/random.h"
#include "tests/support/captured_stream.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// The definition, leaf by leaf.
size_t SlowFind(const std::vector<double>& weights, double query) {
  double sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    if (weights[i] > 0) {
      last = i;
      if (sum >= query) {
        return i;
      }
    }
  }
  return last;
}

std::vector<uint32_t> FindAll(const SumTree& tree, const std::vector<double>& queries) {
  std::vector<uint32_t> leaves(queries.size());
  tree.FindBatch(queries, leaves.data());
  return leaves;
}

// True if the call aborts. Runs it in a child process.
template <class Call>
bool Aborts(const Call& call) {
  testing::CapturedStream captured(STDERR_FILENO);  // Its message is not for the reader of the test.
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // Catch's handler would go on with the tests.
    call();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  captured.Finish();
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

std::vector<double> Weights(const SumTree& tree) {
  std::vector<double> weights;
  for (size_t i = 0; i < tree.capacity(); ++i) {
    weights.push_back(tree.Get(i));
  }
  return weights;
}

}  // namespace

TEST_CASE("a sum tree finds the leaf at which the running sum reaches a query", "[unit]") {
  const SumTree tree(std::vector<double>{1, 1, 1, 1, 3});
  REQUIRE(tree.Sum() == 7);
  REQUIRE(FindAll(tree, {-1, 0.9, 1.1, 2.0, 3.9, 4.2, 7.0, 10.0}) == std::vector<uint32_t>{0, 0, 1, 1, 3, 4, 4, 4});
  REQUIRE(tree.Find(1.0) == 0);  // It goes right only if the query is strictly greater.
}

TEST_CASE("a sum tree of any size agrees with a running sum over its leaves", "[unit]") {
  Rng rng(5);
  for (const size_t capacity : {1, 2, 7, 8, 9, 63, 64, 65, 511, 512, 513, 4097, 33000}) {
    // Small whole numbers: their sums are exact in any order, so the answer is the same to the last bit.
    std::vector<double> weights(capacity);
    for (double& weight : weights) {
      weight = static_cast<double>(rng.UniformInt(4));
    }
    weights[rng.UniformInt(capacity)] = 1;
    SumTree tree(weights);
    for (int round = 0; round < 4; ++round) {
      std::vector<double> queries;
      for (int i = 0; i < 200; ++i) {
        queries.push_back(static_cast<double>(rng.UniformInt(static_cast<uint64_t>(tree.Sum()) + 3)) - 1);
      }
      const std::vector<uint32_t> found = FindAll(tree, queries);
      for (size_t i = 0; i < queries.size(); ++i) {
        CAPTURE(capacity, round, queries[i]);
        REQUIRE(found[i] == SlowFind(weights, queries[i]));
        REQUIRE(tree.Find(queries[i]) == found[i]);
      }
      std::vector<uint32_t> leaves;
      std::vector<double> values;
      for (size_t i = 0; i < 1 + capacity / 20; ++i) {
        leaves.push_back(static_cast<uint32_t>(rng.UniformInt(capacity)));
        values.push_back(static_cast<double>(1 + rng.UniformInt(5)));
        weights[leaves.back()] = values.back();
      }
      if (round % 2 == 0) {
        tree.SetBatch(leaves, values);
      } else {
        for (size_t i = 0; i < leaves.size(); ++i) {
          tree.Set(leaves[i], values[i]);
        }
      }
      REQUIRE(Weights(tree) == weights);
    }
  }
}

TEST_CASE("setting one by one, later, or as a batch gives the same sums to the last bit", "[unit]") {
  constexpr size_t kCapacity = 20000;
  Rng rng(6);
  SumTree one_by_one(kCapacity);
  SumTree batch(kCapacity);
  SumTree later(kCapacity);
  for (const size_t count : {3, 40, 5000}) {
    std::vector<uint32_t> leaves;
    std::vector<double> values;
    for (size_t i = 0; i < count; ++i) {
      leaves.push_back(static_cast<uint32_t>(rng.UniformInt(kCapacity)));
      values.push_back(rng.Uniform());
      one_by_one.Set(leaves[i], values[i]);
      later.SetLater(leaves[i], values[i]);
    }
    batch.SetBatch(leaves, values);
    later.Rebuild();
    const SumTree rebuilt(Weights(batch));
    REQUIRE(one_by_one.Sum() == rebuilt.Sum());
    REQUIRE(batch.Sum() == rebuilt.Sum());
    REQUIRE(later.Sum() == rebuilt.Sum());
    std::vector<double> queries;
    for (int i = 0; i < 1000; ++i) {
      queries.push_back(rng.Uniform(0, rebuilt.Sum()));
    }
    REQUIRE(FindAll(one_by_one, queries) == FindAll(rebuilt, queries));
    REQUIRE(FindAll(batch, queries) == FindAll(rebuilt, queries));
    REQUIRE(FindAll(later, queries) == FindAll(rebuilt, queries));
  }
}

TEST_CASE("rounding errors do not gather in a sum tree", "[unit]") {
  SumTree tree(100);
  Rng rng(7);
  for (int i = 0; i < 20000; ++i) {
    tree.Set(rng.UniformInt(100), rng.Uniform() * 1e12);
  }
  for (size_t i = 0; i < 100; ++i) {
    tree.Set(i, 0);
  }
  REQUIRE(tree.Sum() == 0);
}

TEST_CASE("a leaf of weight 0 is never found if another leaf has a weight", "[unit]") {
  Rng rng(8);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> weights(1 + rng.UniformInt(700), 0.0);
    for (uint64_t i = 0; i < 1 + rng.UniformInt(6); ++i) {
      // Sizes so different that sums lose the small ones.
      weights[rng.UniformInt(weights.size())] = rng.Uniform() * (rng.UniformInt(2) == 0 ? 1e-17 : 1e3);
    }
    weights[rng.UniformInt(weights.size())] = 1.0 / 3;
    const SumTree tree(weights);
    std::vector<double> queries = {-1,
                                   0,
                                   std::numeric_limits<double>::denorm_min(),
                                   tree.Sum(),
                                   2 * tree.Sum(),
                                   std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()};
    double sum = 0;
    for (const double weight : weights) {  // The edges, and the numbers next to them.
      sum += weight;
      queries.push_back(sum);
      queries.push_back(std::nextafter(sum, 0.0));
      queries.push_back(std::nextafter(sum, 1e9));
    }
    for (const uint32_t leaf : FindAll(tree, queries)) {
      REQUIRE(leaf < weights.size());
      REQUIRE(weights[leaf] > 0);
    }
  }
}

TEST_CASE("a sum tree keeps its weights when it grows", "[unit]") {
  SumTree tree(3);
  tree.Set(2, 5);
  tree.Grow(3000);
  REQUIRE(tree.capacity() == 3000);
  REQUIRE(tree.Sum() == 5);
  tree.Set(2999, 1);
  REQUIRE(tree.Sum() == 6);
  REQUIRE(tree.Find(5.5) == 2999);
  REQUIRE(tree.Find(5) == 2);
}

TEST_CASE("a large sum tree answers like a small one", "[unit]") {
  constexpr size_t kCapacity = 3'000'000;  // Large enough to be mapped rather than taken from the heap.
  SumTree tree(kCapacity);
  REQUIRE(tree.Sum() == 0);
  std::vector<double> queries;
  for (size_t leaf = 0; leaf < kCapacity; leaf += 1000) {
    tree.SetLater(leaf, 1);
    queries.push_back(static_cast<double>(queries.size()) + 0.5);
  }
  tree.Rebuild();
  const std::vector<uint32_t> found = FindAll(tree, queries);
  for (size_t i = 0; i < found.size(); ++i) {
    REQUIRE(found[i] == i * 1000);
  }
}

// The array of five leaves has room for eight.
TEST_CASE("a leaf past the end, and lists of different lengths, abort", "[unit]") {
  const std::vector<double> weights = {1, 1, 1, 1, 3};
  CHECK(!Aborts([&] { SumTree(weights).Set(4, 2); }));
  for (const size_t leaf : {size_t{5}, size_t{7}, static_cast<size_t>(-1)}) {
    CAPTURE(leaf);
    CHECK(Aborts([&] { SumTree(weights).Set(leaf, 2); }));
    CHECK(Aborts([&] { SumTree(weights).SetLater(leaf, 2); }));
  }
  CHECK(Aborts([&] { SumTree(weights).SetBatch(std::vector<uint32_t>{1, 7}, std::vector<double>{2, 2}); }));
  CHECK(Aborts([&] { SumTree(weights).SetBatch(std::vector<uint32_t>{1, 3}, std::vector<double>{2}); }));
  CHECK(Aborts([&] { SumTree(weights).SetBatch(std::vector<uint32_t>{1}, std::vector<double>{2, 2}); }));
}

}  // namespace waggle
