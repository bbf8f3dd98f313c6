#include "cli/reconfigure.h"

#include "absl/strings/match.h"
#include "common/clients/table_config_convert.h"
#include "tests/cli/fake_services.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::FakeServices;
using testing::SimpleTable;
using testing::ValueOf;

constexpr absl::Duration kTimeout = absl::Seconds(30);

// A server with a table "t" of generation 3.
void AddTable(FakeServices* services) {
  v1::TableInfo* table = services->tables().add_tables();
  *table->mutable_config() = ToProto(SimpleTable("t"));
  table->set_config_generation(3);
  services->reconfigured().add_differences("max_items: 100000 and 77");
  services->reconfigured().set_items_removed(12);
}

TEST_CASE("A change is tried on every server before it is made on one", "[grpc]") {
  FakeServices first;
  FakeServices second;
  AddTable(&first);
  AddTable(&second);
  ReplayServers servers = ValueOf(ReplayServers::Find({{first.address(), second.address()}, ""}, kTimeout));
  const std::string text =
      ValueOf(Reconfigure({"t", {{"max_items", "77"}}, /*dry_run=*/false, "bee@hive"}, kTimeout, &servers));
  CHECK(
      text ==
      absl::StrCat("each of the 2 servers that have the table gets these values for itself; an experiment's limits are "
                   "of all of them together\n",
                   "t at ", servers.address(0),
                   ": changed, generation 3 -> 4\n  max_items: 100000 -> 77\n  12 items leave\n", "t at ",
                   servers.address(1), ": changed, generation 3 -> 4\n  max_items: 100000 -> 77\n  12 items leave\n"));
  for (FakeServices* services : {&first, &second}) {
    REQUIRE(services->reconfigure_requests().size() == 2);
    CHECK(services->reconfigure_requests()[0].dry_run());
    const v1::ReconfigureRequest& request = services->reconfigure_requests()[1];
    CHECK_FALSE(request.dry_run());
    CHECK(request.config_generation() == 3);
    CHECK(request.config().max_items() == 77);
    CHECK(request.requester() == "bee@hive");
  }
}

TEST_CASE("A dry run changes nothing", "[grpc]") {
  FakeServices services;
  AddTable(&services);
  ReplayServers servers = ValueOf(ReplayServers::Find({{services.address()}, ""}, kTimeout));
  const std::string text = ValueOf(Reconfigure({"t", {{"max_items", "77"}}, /*dry_run=*/true, ""}, kTimeout, &servers));
  CHECK(absl::StrContains(text, "would change, generation 3 -> 4\n"));
  CHECK_FALSE(absl::StrContains(text, "for itself"));
  CHECK(absl::StrContains(text, "at least 12 items leave"));
  REQUIRE(services.reconfigure_requests().size() == 1);
  CHECK(services.reconfigure_requests()[0].dry_run());
  services.reconfigured().clear_differences();
  CHECK(absl::StrContains(ValueOf(Reconfigure({"t", {{"max_items", "100000"}}, true, ""}, kTimeout, &servers)),
                          ": nothing changes\n"));
}

TEST_CASE("An error says what was changed before it", "[grpc]") {
  FakeServices first;
  FakeServices second;
  AddTable(&first);
  AddTable(&second);
  ReplayServers servers = ValueOf(ReplayServers::Find({{first.address(), second.address()}, ""}, kTimeout));
  (servers.address(1) == first.address() ? first : second).reconfigure_status() = {grpc::StatusCode::ABORTED,
                                                                                   "changed"};
  const TableChange change = {"t", {{"max_items", "77"}}, /*dry_run=*/false, ""};
  const absl::Status aborted = Reconfigure(change, kTimeout, &servers).status();
  REQUIRE_CODE(aborted, absl::StatusCode::kAborted);
  CHECK(aborted.message() == absl::StrCat("the replay server at ", servers.address(1), ", after it was changed at ",
                                          servers.address(0), ": changed"));
  TableChange unknown = change;
  unknown.table = "tt";
  const absl::Status missing = Reconfigure(unknown, kTimeout, &servers).status();
  REQUIRE_CODE(missing, absl::StatusCode::kNotFound);
  CHECK(absl::StrContains(missing.message(), "did you mean \"t\"?"));
  ReplayServers away = ValueOf(ReplayServers::Find({{first.address(), "127.0.0.1:1"}, ""}, kTimeout));
  const absl::Status refused = Reconfigure(change, kTimeout, &away).status();
  REQUIRE_CODE(refused, absl::StatusCode::kUnavailable);
  CHECK(absl::StrContains(refused.message(), "the replay server at 127.0.0.1:1: nothing was changed: "));
}

}  // namespace
}  // namespace waggle
