// Items that are spread over real servers, unevenly, are drawn as those of one table would be.

#include <cmath>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/deadline.h"
#include "common/replay/replay_client.h"
#include "tests/common/replay/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/chi_square.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::CheckChiSquare;
using testing::ServerFixture;
using testing::ValueOf;

constexpr absl::Duration kLong = absl::Seconds(30);
constexpr int64_t kBatch = 64;

using Weights = std::map<int64_t, double>;  // By the number of the item.

double SumOf(const Weights& weights) {
  double sum = 0;
  for (const auto& [id, weight] : weights) {
    sum += weight;
  }
  return sum;
}

// Servers of one buffer, each of which is given its own items.
class Servers {
 public:
  Servers(size_t count, TableConfig table) : servers_(count), table_(std::move(table)) {
    std::vector<std::string> addresses;
    for (const ServerFixture& server : servers_) {
      addresses.push_back(server.address());
    }
    connection_ = ValueOf(NewGrpcReplayConnection(addresses));
    REQUIRE_OK(connection_->CreateTable(table_, StopToken()));
  }

  // The priorities of these items.
  void Fill(size_t server, const Weights& priorities) {
    const auto connection = servers_[server].Connect();
    const auto writer = ValueOf(connection->NewWriter(testing::SimpleWriter("writer", table_)));
    const size_t count = priorities.size();
    const auto values = std::make_shared<std::vector<float>>(count * 3);
    InsertBlock block;
    block.chunks.push_back({0, 0, static_cast<uint32_t>(count)});
    for (const auto& [id, priority] : priorities) {
      const size_t row = block.items.size();
      (*values)[2 * count + row] = static_cast<float>(id);
      block.items.push_back({0, 0, row, 1, priority});
    }
    block.data = ByteSlices({reinterpret_cast<const char*>(values->data()), values->size() * sizeof(float), values});
    REQUIRE_OK(writer->Append(std::move(block), StopToken()));
    REQUIRE_OK(writer->Flush(kLong));
  }

  void Kill(size_t server) { servers_[server].Stop(); }

  // What samples from all of them.
  SampledBatch Next() {
    if (sampler_ == nullptr) {
      sampler_ = ValueOf(connection_->NewSampler(testing::SimpleSampler(table_, kBatch)));
    }
    return ValueOf(sampler_->Next(StopToken()));
  }

 private:
  std::deque<ServerFixture> servers_;
  const TableConfig table_;
  std::unique_ptr<ReplayConnection> connection_;
  std::unique_ptr<ReplaySampler> sampler_;
};

// Of so many batches, each of which is whole: how often each item comes, and what is said of its probability.
void CheckDistribution(Servers* servers, const Weights& weights, int batches, int64_t missing) {
  const double sum = SumOf(weights);
  std::map<int64_t, int64_t> counts;
  for (int i = 0; i < batches; ++i) {
    const SampledBatch batch = servers->Next();
    REQUIRE(batch.missing_shards == missing);
    REQUIRE(batch.table_items == weights.size());
    REQUIRE(batch.priority_sum == Approx(sum));
    const std::vector<float> ids = testing::Rewards(batch, kBatch);
    const auto* const probabilities = static_cast<const double*>(batch.Data(kItemProbability));
    for (int64_t k = 0; k < kBatch; ++k) {
      const auto id = static_cast<int64_t>(ids[static_cast<size_t>(k)]);
      const auto weight = weights.find(id);
      REQUIRE(weight != weights.end());
      REQUIRE(probabilities[k] == Approx(weight->second / sum));
      REQUIRE(batch.min_probability <= probabilities[k] * 1.000001);
      ++counts[id];
    }
  }
  CheckChiSquare(counts, weights);
}

TableConfig Prioritized() {
  TableConfig table = testing::SimpleTable("table");
  table.sampler.kind = SelectorKind::kPrioritized;
  table.sampler.priority_exponent = 1;
  return table;
}

TEST_CASE(
    "items on five servers of very unequal sums, one of them empty, are drawn as those of one, also after one dies",
    "[grpc]") {
  TableConfig table = Prioritized();
  table.sampler.independent_draws = GENERATE(false, true);
  CAPTURE(table.sampler.independent_draws);
  Servers servers(5, table);
  std::vector<Weights> parts(5);
  for (int64_t id = 0; id < 60; ++id) {
    // Most of the sum is on the first one, most items are on the last one, and the third one has nothing.
    const size_t server = id < 5 ? 0 : id < 10 ? 1 : id < 30 ? 3 : 4;
    parts[server][id] = server == 0 ? 500 : server == 3 ? static_cast<double>(1 + id % 3) : server == 4 ? 10 : 1;
  }
  Weights all;
  Weights rest;
  for (size_t server = 0; server < parts.size(); ++server) {
    if (!parts[server].empty()) {
      servers.Fill(server, parts[server]);
    }
    all.insert(parts[server].begin(), parts[server].end());
    if (server != 0) {
      rest.insert(parts[server].begin(), parts[server].end());
    }
  }
  CheckDistribution(&servers, all, 800, 0);
  // The one with most of the sum: what is left is drawn by what it is.
  servers.Kill(0);
  const Deadline deadline(kLong);
  while (servers.Next().missing_shards == 0) {
    REQUIRE(deadline.Left() > absl::ZeroDuration());
  }
  CheckDistribution(&servers, rest, 400, 1);
}

// machin.md §4.2: two shards, 900 entries of priority 1 and 100 of priority 10, 64 a batch.
TEST_CASE("importance weights of a batch from two servers are those of one table", "[grpc]") {
  TableConfig table = Prioritized();
  table.sampler.priority_exponent = 0.6;
  table.sampler.priority_epsilon = 0.01;
  Servers servers(2, table);
  Weights low;
  Weights high;
  for (int64_t id = 0; id < 1000; ++id) {
    (id < 900 ? low : high)[id] = id < 900 ? 1 : 10;
  }
  servers.Fill(0, low);
  servers.Fill(1, high);
  for (int i = 0; i < 20; ++i) {
    const SampledBatch batch = servers.Next();
    const std::vector<float> ids = testing::Rewards(batch, kBatch);
    const auto* const probabilities = static_cast<const double*>(batch.Data(kItemProbability));
    int64_t from_first = 0;
    for (int64_t k = 0; k < kBatch; ++k) {
      const bool is_low = ids[static_cast<size_t>(k)] < 900;
      from_first += is_low ? 1 : 0;
      const double least = 1 / (900 + 100 * std::pow(10.01 / 1.01, 0.6));
      REQUIRE(std::pow(least / probabilities[k], 0.4) == Approx(is_low ? 1.0 : 0.577).epsilon(0.001));
    }
    REQUIRE((from_first == 44 || from_first == 45));  // 44.45 on average.
  }
}

}  // namespace
}  // namespace waggle
