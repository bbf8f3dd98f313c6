#include "replay_server/service/memory_budgets.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

TEST_CASE("What is beside the tables has its part of their memory, up to what it has by itself", "[unit]") {
  const ReplayServerOptions plain;
  ReplayServerOptions small;
  SetMemoryBudgets(kGiB, &small);
  CHECK(small.store.max_bytes == kGiB);
  CHECK(small.service.max_insert_bytes == kGiB / 16);
  CHECK(small.service.max_sample_bytes == kGiB / 16);
  CHECK(small.service.max_lent_sample_bytes == kGiB / 16);
  CHECK(small.store.known_writers.max_idle_writer_bytes == kGiB / 32);
  CHECK(small.store.writer.max_held_bytes == kGiB / 16);
  CHECK(small.store.max_writer_bytes == kGiB / 16);
  CHECK(BytesBesideTables(small) < kGiB / 10 * 3);
  ReplayServerOptions large;
  SetMemoryBudgets(1'000 * kGiB, &large);
  CHECK(large.store.max_bytes == 1'000 * kGiB);
  CHECK(large.service.max_insert_bytes == plain.service.max_insert_bytes);
  CHECK(large.service.max_kept_sample_bytes == plain.service.max_kept_sample_bytes);
  CHECK(large.store.writer.max_held_bytes == plain.store.writer.max_held_bytes);
  CHECK(BytesBesideTables(large) == BytesBesideTables(plain));
}

TEST_CASE("However little memory there is, every budget is one", "[unit]") {
  for (const int64_t bytes : {int64_t{1}, int64_t{1} << 20}) {
    ReplayServerOptions options;
    SetMemoryBudgets(bytes, &options);
    CHECK(options.store.max_bytes == bytes);
    REQUIRE_OK(options.service.Validate());
    CHECK(options.store.writer.max_held_bytes == int64_t{64} << 20);
    CHECK(options.store.max_writer_bytes == int64_t{64} << 20);
  }
}

TEST_CASE("By default tables and what is beside them have four fifths of the machine", "[unit]") {
  for (const int64_t machine : {kGiB / 4, 2 * kGiB, 8 * kGiB, 64 * kGiB, 1'000 * kGiB}) {
    INFO(machine);
    ReplayServerOptions options;
    SetMemoryBudgets(DefaultTableBytes(machine), &options);
    const int64_t all = options.store.max_bytes + BytesBesideTables(options);
    CHECK(all <= machine / 5 * 4);
    CHECK(all >= machine / 100 * 79);
  }
}

TEST_CASE("A budget that is none is refused by its name", "[unit]") {
  ReplayServiceOptions options;
  REQUIRE_OK(options.Validate());
  options.max_insert_bytes = 0;
  REQUIRE_CODE(options.Validate(), absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(options.Validate().message()), Catch::Contains("max_insert_bytes"));
  Metrics metrics;
  ReplayServerOptions server;
  server.listen = "127.0.0.1:0";
  server.service.max_sample_bytes = -1;
  REQUIRE_CODE(ReplayServer::Start(server, &metrics), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
