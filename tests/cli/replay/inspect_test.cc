#include "cli/replay/inspect.h"

#include "tests/cli/fake_services.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::FakeServices;
using testing::ValueOf;

constexpr absl::Duration kTimeout = absl::Seconds(30);

TableQuestion Question(const std::string& table) {
  TableQuestion question;
  question.table = table;
  return question;
}

TEST_CASE("Pages are requested until there are enough items", "[grpc]") {
  FakeServices services;
  for (int i = 0; i < 1000; ++i) {
    services.replay.inspection.add_items();
  }
  ReplayServers servers = ValueOf(ReplayServers::Find({{services.address()}, ""}, kTimeout));
  TableQuestion question = Question("t");
  question.order = "lowest";
  question.limit = 1500;
  const Inspections inspections = ValueOf(AskInspect(question, kTimeout, &servers));
  REQUIRE(inspections.size() == 1);
  CHECK(inspections[0].response.items_size() == 2000);  // The fake server knows no page sizes.
  CHECK(inspections[0].response.next_page_token() == "more");
  REQUIRE(services.replay.inspect_requests.size() == 2);
  CHECK(services.replay.inspect_requests[0].order() == v1::InspectRequest::ORDER_LOWEST_PRIORITY);
  CHECK(services.replay.inspect_requests[0].page_size() == 1000);
  CHECK(services.replay.inspect_requests[0].statistics());
  CHECK(services.replay.inspect_requests[1].page_size() == 500);
  CHECK(services.replay.inspect_requests[1].page_token() == "more");
  CHECK_FALSE(services.replay.inspect_requests[1].statistics());
}

TEST_CASE("One item is requested with its columns", "[grpc]") {
  FakeServices services;
  ReplayServers servers = ValueOf(ReplayServers::Find({{services.address()}, ""}, kTimeout));
  TableQuestion question = Question("t");
  question.item = 7;
  ValueOf(AskInspect(question, kTimeout, &servers));
  REQUIRE(services.replay.inspect_requests.size() == 1);
  CHECK(services.replay.inspect_requests[0].columns());
  CHECK(services.replay.inspect_requests[0].keys(0) == 7);
  CHECK_FALSE(services.replay.inspect_requests[0].statistics());
}

TEST_CASE("An experiment's table is requested by its full name and shown with its plain one", "[grpc]") {
  FakeServices services;
  ReplayServers servers = ValueOf(ReplayServers::Find({{services.address()}, "", "pole-x7k2q"}, kTimeout));
  ValueOf(AskInspect(Question("t"), kTimeout, &servers));
  REQUIRE_FALSE(services.replay.inspect_requests.empty());
  CHECK(services.replay.inspect_requests[0].table() == "pole-x7k2q/t");
}

TEST_CASE("An unknown table, and a page from several servers, are errors", "[grpc]") {
  FakeServices services;
  FakeServices other;
  ReplayServers servers = ValueOf(ReplayServers::Find({{services.address(), other.address()}, ""}, kTimeout));
  TableQuestion question = Question("u");
  REQUIRE_CODE(AskInspect(question, kTimeout, &servers).status(), absl::StatusCode::kNotFound);
  // It is not known whether the server that is away has the table.
  ReplayServers away = ValueOf(ReplayServers::Find({{services.address(), "127.0.0.1:1"}, ""}, kTimeout));
  REQUIRE_CODE(AskInspect(question, kTimeout, &away), absl::StatusCode::kUnavailable);
  question.table = "t";
  CHECK(ValueOf(AskInspect(question, kTimeout, &servers)).size() == 2);
  question.page = "n-1-2-3";
  REQUIRE_CODE(AskInspect(question, kTimeout, &servers).status(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace waggle
