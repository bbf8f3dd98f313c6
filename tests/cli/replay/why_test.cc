#include "cli/replay/why.h"

#include "tests/cli/fake_services.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::FakeServices;
using ::waggle::testing::ValueOf;

constexpr absl::Duration kTimeout = absl::Seconds(30);

TEST_CASE("An experiment's own tables are explained, under their plain names", "[grpc]") {
  FakeServices services;
  services.replay.explanation.add_tables()->mutable_config()->set_name("cart-99abc/t");
  v1::TableExplanation* const own = services.replay.explanation.add_tables();
  own->mutable_config()->set_name("pole-x7k2q/t");
  own->set_summary("table \"pole-x7k2q/t\" has no sampler");
  own->add_parties()->set_waits_at("pole-x7k2q/u");
  ReplayServers servers = ValueOf(ReplayServers::Find({{services.address()}, "", "pole-x7k2q"}, kTimeout));
  for (const std::string table : {"", "t"}) {
    const Explanations explanations = AskWhy(table, kTimeout, &servers);
    REQUIRE(explanations.size() == 1);
    REQUIRE(explanations[0].response.tables_size() == 1);
    CHECK(explanations[0].response.tables(0).config().name() == "t");
    CHECK(explanations[0].response.tables(0).summary() == "table \"t\" has no sampler");
    CHECK(explanations[0].response.tables(0).parties(0).waits_at() == "u");
  }
  REQUIRE(services.replay.explain_requests.size() == 2);
  CHECK(services.replay.explain_requests[0].table().empty());
  CHECK(services.replay.explain_requests[1].table() == "pole-x7k2q/t");
}

TEST_CASE("For a server that serves alone all tables are explained, under their own names", "[grpc]") {
  FakeServices services;
  services.replay.explanation.add_tables()->mutable_config()->set_name("cart-99abc/t");
  ReplayServers servers = ValueOf(ReplayServers::Find({{services.address()}, ""}, kTimeout));
  CHECK(AskWhy("", kTimeout, &servers)[0].response.tables(0).config().name() == "cart-99abc/t");
}

}  // namespace
}  // namespace waggle
