// No source of its own: what somebody does whose run hangs and who wants to know why.

#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/replay_client/replay_client.h"
#include "common/rpc/server.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle::testing {
namespace {

// A hub and a replay server.
struct Servers {
  Servers() {
    Eventually("the replay server at the hub", [&] {
      return Ask({"status", "--json"}).find("\"replay-server") != std::string::npos;
    });
    const auto status = nlohmann::json::parse(Ask({"status", "--json"}));
    for (const auto& process : status["processes"]) {
      if (process["role"] == "replay-server") {
        replay_address = process["address"];
      }
    }
    REQUIRE(!replay_address.empty());
  }

  // What `waggle` answers to a question about this run; sets `exit_code`.
  std::string Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "waggle");
    arguments.insert(arguments.end(), {"--param-server", hub});
    RunningProcess process(folder, absl::StrCat("question-", ++questions), std::move(arguments));
    exit_code = process.Wait().code;
    return process.Log();
  }

  const TemporaryFolder folder;
  // A port that was free a moment ago.
  const std::string hub = ValueOf(RpcServer::Start("127.0.0.1:0", {}))->address();
  RunningProcess param_server{
      folder, "param_server", {"waggle-param-server", "--listen", hub, "--data-dir", folder.File("hub")}};
  RunningProcess replay{folder, "replay", {"waggle-replay-server", "--param-server", hub, "--listen", "127.0.0.1:0"}};
  std::string replay_address;
  int questions = 0;
  int exit_code = -1;
};

TEST_CASE("a run whose sampler has gone is explained, and goes on once it is reconfigured as told", "[e2e]") {
  Servers servers;
  TableConfig table = SimpleTable("transitions");
  table.rate_limiter = {8, 10, 0, 0, 200};
  const auto connection = ValueOf(NewGrpcReplayConnection({servers.replay_address}));
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("actor-1", table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 20), StopToken()));
  REQUIRE_OK(writer->Flush(absl::Minutes(1)));
  {
    ReplaySamplerOptions options = SimpleSampler(table, 4);
    options.sampler_id = "learner";
    options.prefetch = 1;
    const auto sampler = ValueOf(connection->NewSampler(options));
    REQUIRE_OK(sampler->Next(StopToken()).status());
  }
  REQUIRE_OK(writer->Append(SimpleBlock(20, 30), StopToken()));  // Six of them are let in.

  std::string why;
  Eventually("the wait", [&] {
    why = servers.Ask({"why", "transitions"});
    return servers.exit_code == 3 && absl::StrContains(why, "learner (sampled");
  });
  INFO(why);
  const std::string first_line = std::vector<std::string>(absl::StrSplit(why, '\n')).front();
  CHECK(absl::StrContains(first_line, "transitions at "));
  CHECK(absl::StrContains(first_line, "WAITING: for "));
  CHECK(absl::StrContains(first_line, "nobody samples: inserts wait for "));
  CHECK(absl::StrContains(why, "no sampler is connected: learner (sampled "));
  CHECK(absl::StrContains(why, "insert  actor-1"));
  const auto json = nlohmann::json::parse(servers.Ask({"why", "--json"}));
  CHECK(json["verdict"] == "waiting");
  const auto& explained = json["tables"][0];
  CHECK(explained["cause"] == "nobody_samples");
  CHECK(explained["waits"][0]["who"] == "actor-1");
  const auto& remedy = explained["remedies"][0];
  CHECK(remedy["setting"] == "rate_limiter.max_difference");

  // One insert more is what was asked for; then the next one waits, and all may go on with room for all.
  CHECK(absl::StrContains(servers.Ask({"reconfigure", "transitions", "rate_limiter.max_difference=1000", "--dry-run"}),
                          "would change, generation 1 -> 2\n  rate_limiter.max_difference: 200 -> 1000\n"));
  CHECK(servers.exit_code == 0);
  servers.Ask({"why"});
  CHECK(servers.exit_code == 3);
  servers.Ask({"reconfigure", "transitions", "rate_limiter.max_difference=1000"});
  CHECK(servers.exit_code == 0);
  REQUIRE_OK(writer->Flush(absl::Minutes(1)));
  CHECK(absl::StrContains(servers.Ask({"why"}), "flowing: nobody waits; 50 of 100000 items"));
  CHECK(servers.exit_code == 0);
  CHECK(absl::StrContains(servers.replay.Log(), "rate_limiter.max_difference: 200 and 1000; 0 items left"));

  CHECK(absl::StrContains(servers.Ask({"why", "transition"}), "did you mean \"transitions\"?"));
  CHECK(servers.exit_code == 2);
  const std::string items = servers.Ask({"inspect", "transitions", "--limit", "3"});
  CHECK(absl::StrContains(items, ": 50 items\n"));
  CHECK(absl::StrContains(items, "actor-1"));
  CHECK(absl::StrContains(servers.Ask({"inspect", "transitions", "--item", "49"}), "[49, 49]"));
  CHECK(servers.exit_code == 0);
}

TEST_CASE("a table whose bytes do not suffice for its first batch is called a deadlock", "[e2e]") {
  Servers servers;
  TableConfig table = SimpleTable("t");
  table.rate_limiter = {0, 1000};
  table.max_bytes = 4000;
  const auto connection = ValueOf(NewGrpcReplayConnection({servers.replay_address}));
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 4)));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("actor-1", table)));
  for (uint64_t row = 0; row < 1000; row += 10) {
    REQUIRE_OK(writer->Append(SimpleBlock(row, 10), StopToken()));
  }
  REQUIRE_OK(writer->Flush(absl::Minutes(1)));
  std::string why;
  Eventually("the deadlock", [&] {
    why = servers.Ask({"why"});
    return servers.exit_code == 4;
  });
  INFO(why);
  CHECK(absl::StrContains(why, "t at "));
  CHECK(absl::StrContains(why, "DEADLOCK: for "));
  CHECK(absl::StrContains(why, "samples wait for 1000 items, and only about "));
  CHECK(absl::StrContains(why, "max_bytes >= "));
}

TEST_CASE("a table goes to a file and comes back under another name", "[e2e]") {
  Servers servers;
  TableConfig table = SimpleTable("run/transitions");
  const auto connection = ValueOf(NewGrpcReplayConnection({servers.replay_address}));
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("actor-1", table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 500), StopToken()));
  REQUIRE_OK(writer->Flush(absl::Minutes(1)));
  const std::string file = servers.folder.File("transitions.waggle");
  CHECK(absl::StrContains(servers.Ask({"replay", "export", "run/transitions", file}), "wrote 500 items"));
  CHECK(servers.exit_code == 0);
  CHECK(absl::StrContains(servers.Ask({"replay", "export", "run/transitions", file}), "is there already"));
  CHECK(servers.exit_code == 2);
  CHECK(absl::StrContains(servers.Ask({"replay", "import", file, "--table", "copy"}), "inserted 500 items"));
  CHECK(servers.exit_code == 0);
  CHECK(absl::StrContains(servers.Ask({"inspect", "copy"}), ": 500 items\n"));
  CHECK(absl::StrContains(servers.Ask({"replay", "export", "run/transition", file + "2"}), "did you mean"));
  CHECK(servers.exit_code == 2);
  servers.Ask({"replay", "import", servers.folder.File("none")});
  CHECK(servers.exit_code == 2);
}

}  // namespace
}  // namespace waggle::testing
