// The verbs with which a user finds out why a run hangs.

#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/net/server.h"
#include "common/replay/replay_client.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle::testing {
namespace {

// A replay server that serves alone.
struct Server {
  Server() {
    Eventually("the replay server", [&] {
      Ask({"status"});
      return exit_code == 0;
    });
  }

  // The output of `waggle` for a question about it; sets `exit_code`.
  std::string Ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "waggle");
    arguments.insert(arguments.end(), {"--replay-server", address});
    RunningProcess process(folder, absl::StrCat("question-", ++questions), std::move(arguments));
    exit_code = process.Wait().code;
    return process.Log();
  }

  const TemporaryFolder folder;
  // A port that was free just now.
  const std::string address = ValueOf(RpcServer::Start("127.0.0.1:0", {}))->address();
  RunningProcess replay{folder, "replay", {"waggle-replay-server", "--listen", address}};
  int questions = 0;
  int exit_code = -1;
};

TEST_CASE("a table without its sampler is explained, and goes on once it is reconfigured as suggested", "[e2e]") {
  Server server;
  TableConfig table = SimpleTable("transitions");
  table.rate_limiter = {8, 10, 0, 0, 200};
  const auto connection = ValueOf(NewGrpcReplayConnection({server.address}));
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
  REQUIRE_OK(writer->Append(SimpleBlock(20, 30), StopToken()));  // Six of them are admitted.

  std::string why;
  Eventually("the wait", [&] {
    why = server.Ask({"why", "transitions"});
    return server.exit_code == 3 && absl::StrContains(why, "learner (sampled");
  });
  INFO(why);
  CHECK(absl::StrContains(why.substr(0, why.find('\n')), "WAITING: for "));
  const auto json = nlohmann::json::parse(server.Ask({"why", "--json"}));
  CHECK(json["verdict"] == "waiting");
  const auto& explained = json["tables"][0];
  CHECK(explained["cause"] == "nobody_samples");
  CHECK(explained["waits"][0]["who"] == "actor-1");
  CHECK(explained["remedies"][0]["setting"] == "rate_limiter.max_difference");

  // One more insert was the suggestion; then the next one waits. With room for all, all may go on.
  CHECK(absl::StrContains(server.Ask({"reconfigure", "transitions", "rate_limiter.max_difference=1000", "--dry-run"}),
                          "would change, generation 1 -> 2\n  rate_limiter.max_difference: 200 -> 1000\n"));
  CHECK(server.exit_code == 0);
  server.Ask({"why"});
  CHECK(server.exit_code == 3);
  server.Ask({"reconfigure", "transitions", "rate_limiter.max_difference=1000"});
  CHECK(server.exit_code == 0);
  REQUIRE_OK(writer->Flush(absl::Minutes(1)));
  CHECK(absl::StrContains(server.Ask({"why"}), "flowing: no call waits; 50 of 100000 items"));
  CHECK(server.exit_code == 0);

  CHECK(absl::StrContains(server.Ask({"why", "transition"}), "did you mean \"transitions\"?"));
  CHECK(server.exit_code == 2);
  const std::string items = server.Ask({"inspect", "transitions", "--limit", "3"});
  CHECK(absl::StrContains(items, ": 50 items\n"));
  CHECK(absl::StrContains(items, "actor-1"));
  CHECK(absl::StrContains(server.Ask({"inspect", "transitions", "--item", "49"}), "[49, 49]"));
  CHECK(server.exit_code == 0);
}

TEST_CASE("a table whose bytes cannot hold its first batch is a deadlock", "[e2e]") {
  Server server;
  TableConfig table = SimpleTable("t");
  table.rate_limiter = {0, 1000};
  table.max_bytes = 4000;
  const auto connection = ValueOf(NewGrpcReplayConnection({server.address}));
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto sampler = ValueOf(connection->NewSampler(SimpleSampler(table, 4)));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("actor-1", table)));
  for (uint64_t row = 0; row < 1000; row += 10) {
    REQUIRE_OK(writer->Append(SimpleBlock(row, 10), StopToken()));
  }
  REQUIRE_OK(writer->Flush(absl::Minutes(1)));
  std::string why;
  Eventually("the deadlock", [&] {
    why = server.Ask({"why"});
    return server.exit_code == 4;
  });
  INFO(why);
  CHECK(absl::StrContains(why, "DEADLOCK: for "));
  CHECK(absl::StrContains(why, "max_bytes >= "));
}

TEST_CASE("a table is exported to a file and imported under another name", "[e2e]") {
  Server server;
  TableConfig table = SimpleTable("run/transitions");
  const auto connection = ValueOf(NewGrpcReplayConnection({server.address}));
  REQUIRE_OK(connection->CreateTable(table, StopToken()));
  const auto writer = ValueOf(connection->NewWriter(SimpleWriter("actor-1", table)));
  REQUIRE_OK(writer->Append(SimpleBlock(0, 500), StopToken()));
  REQUIRE_OK(writer->Flush(absl::Minutes(1)));
  const std::string file = server.folder.File("transitions.waggle");
  CHECK(absl::StrContains(server.Ask({"replay", "export", "run/transitions", file}), "wrote 500 items"));
  CHECK(server.exit_code == 0);
  CHECK(absl::StrContains(server.Ask({"replay", "export", "run/transitions", file}), "is there already"));
  CHECK(server.exit_code == 2);
  CHECK(absl::StrContains(server.Ask({"replay", "import", file, "--table", "copy"}), "inserted 500 items"));
  CHECK(server.exit_code == 0);
  CHECK(absl::StrContains(server.Ask({"inspect", "copy"}), ": 500 items\n"));
  CHECK(absl::StrContains(server.Ask({"replay", "export", "run/transition", file + "2"}), "did you mean"));
  CHECK(server.exit_code == 2);
  server.Ask({"replay", "import", server.folder.File("none")});
  CHECK(server.exit_code == 2);
}

}  // namespace
}  // namespace waggle::testing
