// Items that are spread unevenly over servers are drawn as from one table.

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

// Servers of one buffer, each with its own items.
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

  // A batch from all of them.
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

// Checks the frequencies of the items in so many whole batches, and their probabilities.
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

TEST_CASE("items on five very unequal servers are drawn as from one table, also after one dies", "[grpc]") {
  TableConfig table = testing::SimpleTable("table");
  table.sampler.kind = SelectorKind::kPrioritized;
  table.sampler.priority_exponent = 1;
  table.sampler.independent_draws = GENERATE(false, true);
  CAPTURE(table.sampler.independent_draws);
  Servers servers(5, table);
  std::vector<Weights> parts(5);
  for (int64_t id = 0; id < 60; ++id) {
    // The first server has most of the sum, the last one most items, and the third one nothing.
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
  // The one with most of the sum.
  servers.Kill(0);
  const Deadline deadline(kLong);
  while (servers.Next().missing_shards == 0) {
    REQUIRE(deadline.Left() > absl::ZeroDuration());
  }
  CheckDistribution(&servers, rest, 400, 1);
}

}  // namespace
}  // namespace waggle
