#include "common/config/table/table_name.h"

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A table's name contains its experiment", "[unit]") {
  CHECK(TableNameOf("cartpole-x7k2p", "replay") == "cartpole-x7k2p/replay");
  CHECK(ExperimentOfTable("cartpole-x7k2p/replay") == "cartpole-x7k2p");
  CHECK(PlainTableName("cartpole-x7k2p/replay") == "replay");
  CHECK(ExperimentOfTable("cartpole-x7k2p/a/b") == "cartpole-x7k2p");
  CHECK(PlainTableName("cartpole-x7k2p/a/b") == "a/b");
}

TEST_CASE("A table of no experiment keeps its name", "[unit]") {
  CHECK(TableNameOf("", "replay") == "replay");
  CHECK(ExperimentOfTable("replay").empty());
  CHECK(PlainTableName("replay") == "replay");
}

}  // namespace
}  // namespace waggle
