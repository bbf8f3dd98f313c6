#include "replay_server/writers/forgotten_writers.h"

#include "replay_server/store/replay_store.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::SmallTable;
using testing::ValueOf;

// A writer to one table with one block applied.
struct Known {
  explicit Known(ReplayStore* store, uint64_t incarnation = 7) {
    session = ValueOf(store->OpenWriter(std::to_string(incarnation), {SmallTable().name}, SmallTable().signature));
    REQUIRE_OK(session->Claim(incarnation));
    session->Insert(1, InsertBlock(), [](const auto& /*result*/) {});
    REQUIRE(session->applied_sequence() == 1);
  }
  std::shared_ptr<WriterSession> session;
};

// Finds a writer, and drops it.
std::optional<ForgottenWriters::Writer> Take(ForgottenWriters* forgotten, const std::string& id, uint64_t incarnation,
                                             const std::vector<std::shared_ptr<Table>>& tables) {
  const std::optional<ForgottenWriters::Writer> known = forgotten->Find(id, incarnation, tables);
  forgotten->Drop(id, incarnation);
  return known;
}

TEST_CASE("a writer's progress is found by its id, incarnation and tables, once", "[unit]") {
  ReplayStore store({});
  REQUIRE_OK(store.CreateTable(SmallTable()));
  const Known known(&store);
  ForgottenWriters forgotten(10);
  forgotten.Add("w", *known.session);
  CHECK(Take(&forgotten, "w", 7, known.session->tables())->sequence == 1);
  CHECK_FALSE(Take(&forgotten, "w", 7, known.session->tables()).has_value());
  forgotten.Add("w", *known.session);
  CHECK_FALSE(Take(&forgotten, "v", 7, known.session->tables()).has_value());
  CHECK_FALSE(Take(&forgotten, "w", 8, known.session->tables()).has_value());
  CHECK(forgotten.size() == 1);
  const Known another(&store, 8);
  forgotten.Add("w", *another.session);
  CHECK(forgotten.size() == 2);
  CHECK(Take(&forgotten, "w", 7, known.session->tables()).has_value());
  CHECK(Take(&forgotten, "w", 8, known.session->tables()).has_value());
  forgotten.Add("w", *known.session);
  ReplayStore other({});
  REQUIRE_OK(other.CreateTable(SmallTable()));
  CHECK_FALSE(Take(&forgotten, "w", 7, other.tables()).has_value());
}

TEST_CASE("the writers that were forgotten longest ago make room, also if one comes and goes often", "[unit]") {
  ReplayStore store({});
  REQUIRE_OK(store.CreateTable(SmallTable()));
  const Known known(&store);
  const auto& tables = known.session->tables();
  ForgottenWriters forgotten(3);
  for (const char* const id : {"a", "b", "a", "c", "d"}) {
    forgotten.Add(id, *known.session);
  }
  CHECK(forgotten.size() == 3);
  CHECK_FALSE(Take(&forgotten, "b", 7, tables).has_value());
  for (int i = 0; i < 1000; ++i) {
    forgotten.Add("often", *known.session);
  }
  CHECK(forgotten.size() <= 3);
  CHECK(Take(&forgotten, "often", 7, tables).has_value());
}

}  // namespace
}  // namespace waggle
