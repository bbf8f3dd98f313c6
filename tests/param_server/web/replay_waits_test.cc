#include "param_server/web/replay_waits.h"

#include "tests/cli/fake_services.h"
#include "tests/common/hub/summary/sample_overview.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(30);

v1::OverviewResponse OverviewWith(const std::string& server) {
  v1::OverviewResponse overview;
  AddWorker(v1::ROLE_REPLAY_SERVER, 0, &overview)->set_address(server);
  return overview;
}

TEST_CASE("the waits are those of the experiment's own tables, under their plain names", "[grpc]") {
  FakeServices services;
  services.replay.explanation.add_tables()->mutable_config()->set_name("cart-99abc/t");
  v1::TableExplanation* const own = services.replay.explanation.add_tables();
  own->mutable_config()->set_name("pole-x7k2q/t");
  own->set_verdict(v1::TableExplanation::VERDICT_WAITING);
  own->set_summary("table \"pole-x7k2q/t\" has no sampler");
  own->add_remedies()->set_setting("rate_limiter.max_difference");
  own->add_waits()->set_why("at pole-x7k2q/t");
  ReplayWaits waits(kTimeout, absl::InfiniteDuration());
  const nlohmann::ordered_json answer = waits.Ask("pole-x7k2q", OverviewWith(services.address()));
  REQUIRE(answer["tables"].size() == 1);
  const nlohmann::ordered_json& table = answer["tables"][0];
  CHECK(table["table"] == "t");
  CHECK(table["server"] == services.address());
  CHECK(table["verdict"] == "waiting");
  CHECK(table["summary"] == "table \"t\" has no sampler");
  CHECK(table["waits"][0]["why"] == "at t");
  CHECK(table["remedies"][0]["setting"] == "rate_limiter.max_difference");
  CHECK(answer["unanswered"].empty());
  // Pages that ask soon after cost the server nothing.
  CHECK(waits.Ask("pole-x7k2q", OverviewWith(services.address())) == answer);
  CHECK(services.replay.explain_requests.size() == 1);
}

TEST_CASE("a replay server that does not answer is named with its error", "[grpc]") {
  ReplayWaits waits(absl::Milliseconds(200));
  const nlohmann::ordered_json answer = waits.Ask("pole-x7k2q", OverviewWith("127.0.0.1:1"));
  CHECK(answer["tables"].empty());
  REQUIRE(answer["unanswered"].size() == 1);
  CHECK(answer["unanswered"][0]["server"] == "127.0.0.1:1");
  CHECK_FALSE(answer["unanswered"][0]["error"].get<std::string>().empty());
}

}  // namespace
}  // namespace waggle::testing
