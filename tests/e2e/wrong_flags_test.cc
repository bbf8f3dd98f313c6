// Wrong command lines of all executables.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/e2e/running_process.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

TEST_CASE("A wrong value of a flag ends an executable at once, with one line that names the flag", "[e2e]") {
  struct Case {
    std::vector<std::string> command;
    std::string flag;
    std::string value;
  };
  const std::vector<std::string> actor = {"waggle-actor", "--param-server", "127.0.0.1:1"};
  const std::vector<std::string> learner = {"waggle-learner", "--param-server", "127.0.0.1:1"};
  const std::vector<std::string> hub = {"waggle-param-server", "--listen", "127.0.0.1:0", "--data-dir", "d"};
  const Case cases[] = {
      {{"waggle-actor"}, "--param-server", ""},
      {{"waggle-actor"}, "--param-server", "127.0.0.1:0"},
      {actor, "--index", ""},
      {actor, "--index", "first"},
      {actor, "--index", "-1"},
      {actor, "--index", "10000"},
      {actor, "--index", "99999999999999999999"},
      {actor, "--log-level", "loud"},
      {actor, "--metrics-listen", "9600"},
      {{"waggle-learner"}, "--param-server", "here"},
      {learner, "--log-level", ""},
      {{"waggle-param-server", "--data-dir", "d"}, "--listen", "127.0.0.1:65536"},
      {{"waggle-param-server", "--listen", "127.0.0.1:0"}, "--data-dir", ""},
      {hub, "--output-dir", ""},
      {hub, "--log-level", "7"},
      {hub, "--log-format", "xml"},
      // Its other flags are tested in replay_flags_test.cc, waggle's in command_line_test.cc.
      {{"waggle-replay-server"}, "--memory-bytes", "0"},
      {{"waggle", "run", "x.yaml"}, "--actors", "5000"},
  };
  const TemporaryFolder folder;
  int number = 0;
  for (const Case& one : cases) {
    std::vector<std::string> command = one.command;
    command.push_back(one.flag);
    command.push_back(one.value);
    INFO(one.command[0] << " " << one.flag << " \"" << one.value << "\"");
    RunningProcess process(folder, absl::StrCat("log", ++number), command);
    CHECK(process.Wait().ShellStatus() == 2);
    const std::string log = process.Log();
    CHECK_THAT(log, Catch::StartsWith(one.command[0]) && Catch::Contains(": " + one.flag + ": ") &&
                        Catch::Contains("\"" + one.value + "\""));
    CHECK(std::count(log.begin(), log.end(), '\n') == 1);
  }
}

}  // namespace
}  // namespace waggle::testing
