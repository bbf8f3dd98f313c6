#include "common/replay_client/grpc_replay_sampler.h"

#include <memory>
#include <vector>

#include "tests/common/replay_client/replay_server_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::Rewards;
using testing::ServerFixture;
using testing::SimpleBlock;
using testing::SimpleSampler;
using testing::SimpleTable;
using testing::SimpleWriter;
using testing::ValueOf;

constexpr absl::Duration kPatience = absl::Seconds(30);

TEST_CASE("Batches larger than a piece arrive whole, compressed or not", "[grpc]") {
  const Codec codec = GENERATE(Codec::kNone, Codec::kLz4, Codec::kZstd);
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("large", 10'000);
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
  for (uint64_t row = 0; row < 200; row += 50) {
    REQUIRE_OK(writer->Append(SimpleBlock(row, 50, 10'000), StopToken()));
  }
  REQUIRE_OK(writer->Flush(kPatience));
  ReplaySamplerOptions options = SimpleSampler(table, 128);
  options.compression = codec;
  const auto sampler = ValueOf(connection->NewSampler(options));
  for (int i = 0; i < 10; ++i) {
    const SampledBatch batch = ValueOf(sampler->Next(StopToken()));
    CHECK(batch.layout->total_bytes > size_t{4} << 20);
    CHECK(reinterpret_cast<uintptr_t>(batch.bytes.get()) % 64 == 0);
    const auto* observations = static_cast<const float*>(batch.Data("observation"));
    const std::vector<float> rewards = Rewards(batch, 128);
    for (int k = 0; k < 128; ++k) {
      for (const int at : {0, 1, 4'999, 9'999}) {
        REQUIRE(observations[10'000 * k + at] == rewards[k]);
      }
    }
  }
}

TEST_CASE("A sampler that expects another table is told so, again and again", "[grpc]") {
  ServerFixture server;
  const auto connection = server.Connect();
  const TableConfig table = SimpleTable("replay");
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  TableConfig other = table;
  other.view.pop_back();
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(other, 4)));
  REQUIRE_CODE(sampler->Next(StopToken()), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(sampler->Next(StopToken()), absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("A sampler's options that can never work are refused", "[unit]") {
  const auto connection = ValueOf(NewGrpcReplayConnection({"127.0.0.1:1"}));
  const TableConfig table = SimpleTable("replay");
  REQUIRE_CODE(connection->NewSampler(SimpleSampler(table, 0)), absl::StatusCode::kInvalidArgument);
  ReplaySamplerOptions options = SimpleSampler(table, 1'000'000);
  options.max_batch_bytes = 1'000;
  REQUIRE_CODE(connection->NewSampler(options), absl::StatusCode::kResourceExhausted);
  for (const int64_t prefetch : {-1, 1'000'000}) {
    options = SimpleSampler(table, 4);
    options.prefetch = prefetch;
    REQUIRE_CODE(connection->NewSampler(options), absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("No more is sampled ahead than is prefetched", "[grpc]") {
  for (const int64_t prefetch : {1, 2, 5}) {
    ServerFixture server;
    const auto connection = server.Connect();
    const TableConfig table = SimpleTable("replay");
    REQUIRE_OK(connection->CreateTable(table, StopToken()));
    const auto writer = ValueOf(connection->NewWriter(SimpleWriter("w", table)));
    REQUIRE_OK(writer->Append(SimpleBlock(0, 10), StopToken()));
    REQUIRE_OK(writer->Flush(kPatience));
    ReplaySamplerOptions options = SimpleSampler(table, 4);
    options.prefetch = prefetch;
    const auto sampler = ValueOf(connection->NewSampler(options));
    for (int i = 1; i <= 40; ++i) {
      REQUIRE_OK(sampler->Next(StopToken()));
      REQUIRE(server.metrics().TakeSnapshot().counters.at("items_sampled") <= static_cast<double>(4 * (i + prefetch)));
    }
  }
}

}  // namespace
}  // namespace waggle
