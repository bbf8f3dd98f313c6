#include "replay_server/selectors/sum_tree_kernels.h"

#include <algorithm>
#include <vector>

#include "common/base/random.h"
#include "replay_server/selectors/zeroed_array.h"
#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("the fastest search finds what the portable one does, to the last bit", "[unit]") {
  // A tree of three levels with arbitrary numbers.
  Rng rng(1);
  constexpr size_t kNodes = 5;
  ZeroedArray root(8);
  ZeroedArray middle(kNodes * 8);
  ZeroedArray leaves(kNodes * 8 * 8);
  const auto fill_before = [&rng](double* node) {
    for (size_t i = 1; i < 8; ++i) {
      node[i] = node[i - 1] + (rng.UniformInt(4) == 0 ? 0 : rng.Uniform());
    }
  };
  fill_before(root.data());
  for (size_t i = 0; i < kNodes; ++i) {
    fill_before(middle.data() + i * 8);
  }
  for (size_t i = 0; i < leaves.size(); ++i) {
    leaves.data()[i] = rng.UniformInt(4) == 0 ? 0 : rng.Uniform() / 8;
  }
  SumTreePath path;
  path.levels = 2;
  path.before[1] = root.data();
  path.last_child[1] = kNodes - 1;
  path.before[0] = middle.data();
  path.last_child[0] = kNodes * 8 - 3;
  path.leaves = leaves.data();
  for (int round = 0; round < 2000; ++round) {
    const size_t count = 1 + rng.UniformInt(kSumTreeSideBySide);
    std::vector<double> queries(count);
    for (double& query : queries) {
      query = 8 * rng.Uniform() + 1e-300;
      if (rng.UniformInt(4) == 0) {
        query = std::max(root.data()[rng.UniformInt(8)], 1e-300);  // Just on an edge.
      }
    }
    std::vector<double> copies = queries;
    std::vector<uint32_t> portable(count);
    std::vector<uint32_t> fastest(count);
    const auto find = [&](const SumTreeSearch& search, double* query, uint32_t* leaf) {
      search.descend(path, 2, 1, count, query, leaf);
      search.descend(path, 1, 0, count, query, leaf);
      search.find_leaves(path, count, query, leaf);
    };
    find(PortableSumTreeSearch(), queries.data(), portable.data());
    find(FastestSumTreeSearch(), copies.data(), fastest.data());
    REQUIRE(fastest == portable);
    REQUIRE(copies == queries);
  }
}

TEST_CASE("the fastest rebuilding gives what the portable one does, to the last bit", "[unit]") {
  Rng rng(2);
  constexpr size_t kNodes = 50;
  ZeroedArray values(kNodes * 8);
  for (int round = 0; round < 100; ++round) {
    for (size_t i = 0; i < values.size(); ++i) {
      values.data()[i] = rng.UniformInt(4) == 0 ? 0 : rng.Uniform() * (rng.UniformInt(2) == 0 ? 1 : 1e9);
    }
    std::vector<uint32_t> nodes(rng.UniformInt(30));
    for (uint32_t& node : nodes) {
      node = static_cast<uint32_t>(rng.UniformInt(kNodes));
    }
    ZeroedArray before[2] = {ZeroedArray(kNodes * 8), ZeroedArray(kNodes * 8)};
    std::vector<double> sums[3];
    for (auto& each : sums) {
      each.assign(kNodes, -1);
    }
    PortableSumTreeRebuild(values.data(), before[0].data(), sums[0].data(), nodes.data(), nodes.size());
    FastestSumTreeRebuild()(values.data(), before[1].data(), sums[1].data(), nodes.data(), nodes.size());
    FastestSumTreeRebuild()(values.data(), nullptr, sums[2].data(), nodes.data(), nodes.size());
    REQUIRE(sums[0] == sums[1]);
    REQUIRE(sums[0] == sums[2]);
    REQUIRE(std::equal(before[0].data(), before[0].data() + kNodes * 8, before[1].data()));
    for (const uint32_t node : nodes) {
      double sum = 0;
      for (size_t i = 0; i < 8; ++i) {
        REQUIRE(before[0].data()[node * 8 + i] == Approx(sum));
        sum += values.data()[node * 8 + i];
      }
      REQUIRE(sums[0][node] == Approx(sum));
    }
  }
}

}  // namespace waggle
