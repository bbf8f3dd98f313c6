#include "replay_server/table/replay_store.h"

#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::SmallTable;

TableConfig Named(const std::string& name) {
  TableConfig config = SmallTable();
  config.name = name;
  return config;
}

}  // namespace

TEST_CASE("creating a table twice succeeds if it is the same and says what differs if not", "[unit]") {
  ReplayStore store(ReplayStoreOptions{});
  REQUIRE(testing::ValueOf(store.CreateTable(SmallTable())));
  REQUIRE_FALSE(testing::ValueOf(store.CreateTable(SmallTable())));
  TableConfig other = SmallTable();
  other.max_items = 101;
  other.rate_limiter.min_items = 3;
  const absl::Status status = store.CreateTable(other).status();
  REQUIRE_CODE(status, absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(status.message(), "max_items: 100 and 101"));
  REQUIRE(absl::StrContains(status.message(), "min_items: 1 and 3"));
  other.name = "";
  REQUIRE_CODE(store.CreateTable(other), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a store has only so many tables", "[unit]") {
  ReplayStoreOptions options;
  options.max_tables = 2;
  ReplayStore store(options);
  REQUIRE_OK(store.CreateTable(Named("a")));
  REQUIRE_OK(store.CreateTable(Named("b")));
  REQUIRE_CODE(store.CreateTable(Named("c")), absl::StatusCode::kResourceExhausted);
  REQUIRE(store.tables().size() == 2);
}

TEST_CASE("an unknown table is not found, with the tables that there are", "[unit]") {
  ReplayStore store(ReplayStoreOptions{});
  REQUIRE_CODE(store.FindTable("replay"), absl::StatusCode::kNotFound);
  REQUIRE_OK(store.CreateTable(Named("replay")));
  REQUIRE(testing::ValueOf(store.FindTable("replay"))->config().name == "replay");
  const absl::Status status = store.FindTable("reply").status();
  REQUIRE_CODE(status, absl::StatusCode::kNotFound);
  REQUIRE(absl::StrContains(status.message(), "did you mean \"replay\""));
}

TEST_CASE("a writer that comes back finds its session", "[unit]") {
  ReplayStore store(ReplayStoreOptions{});
  REQUIRE_OK(store.CreateTable(Named("a")));
  REQUIRE_OK(store.CreateTable(Named("b")));
  const auto signature = SmallTable().signature;
  const auto session = testing::ValueOf(store.OpenWriter("actor-1", {"a", "b"}, signature));
  REQUIRE(testing::ValueOf(store.OpenWriter("actor-1", {"a", "b"}, signature)) == session);
  REQUIRE(testing::ValueOf(store.OpenWriter("actor-2", {"a", "b"}, signature)) != session);
  REQUIRE_CODE(store.OpenWriter("actor-1", {"a"}, signature), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(store.OpenWriter("actor-3", {"a", "c"}, signature), absl::StatusCode::kNotFound);
  REQUIRE_CODE(store.OpenWriter("actor-3", {"a", "a"}, signature), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(store.OpenWriter("actor-3", {}, signature), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(store.OpenWriter("", {"a"}, signature), absl::StatusCode::kInvalidArgument);
  auto other_signature = signature;
  other_signature[0].dtype = DType::kFloat32;
  const absl::Status differs = store.OpenWriter("actor-3", {"a"}, other_signature).status();
  REQUIRE_CODE(differs, absl::StatusCode::kFailedPrecondition);
  REQUIRE(absl::StrContains(differs.message(), "id: float32[]"));
  REQUIRE(absl::StrContains(differs.message(), "id: int64[]"));
}

TEST_CASE("of too many writers one that is away is forgotten, longest ago first", "[unit]") {
  ReplayStoreOptions options;
  options.max_writers = 3;
  ReplayStore store(options);
  REQUIRE_OK(store.CreateTable(Named("a")));
  const auto signature = SmallTable().signature;
  const auto in_use = testing::ValueOf(store.OpenWriter("in-use", {"a"}, signature));
  std::weak_ptr<WriterSession> first = testing::ValueOf(store.OpenWriter("first", {"a"}, signature));
  std::weak_ptr<WriterSession> second = testing::ValueOf(store.OpenWriter("second", {"a"}, signature));
  REQUIRE_OK(store.OpenWriter("first", {"a"}, signature));  // Now the second was away longest.
  REQUIRE_OK(store.OpenWriter("third", {"a"}, signature));
  REQUIRE(second.expired());
  REQUIRE_FALSE(first.expired());
  REQUIRE(testing::ValueOf(store.OpenWriter("in-use", {"a"}, signature)) == in_use);
}

TEST_CASE("a closed store takes no more", "[unit]") {
  ReplayStore store(ReplayStoreOptions{});
  REQUIRE_OK(store.CreateTable(Named("a")));
  store.Close();
  REQUIRE_CODE(store.CreateTable(Named("b")), absl::StatusCode::kCancelled);
}

}  // namespace waggle
