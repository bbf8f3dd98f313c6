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
  const std::string address = "is not an address: wanted HOST:PORT";
  const std::string index = "wanted a whole number from 0 to ";
  const std::string level = "is not a log level; known: debug, info, warning, error";
  struct Case {
    std::vector<std::string> command;
    std::string flag;
    std::string value;
    std::string says;
  };
  const std::vector<std::string> actor = {"waggle-actor", "--param-server", "127.0.0.1:1"};
  const std::vector<std::string> learner = {"waggle-learner", "--param-server", "127.0.0.1:1"};
  const std::vector<std::string> hub = {"waggle-param-server", "--listen", "127.0.0.1:0", "--data-dir", "d"};
  const Case cases[] = {
      {{"waggle-actor"}, "--param-server", "", address},
      {{"waggle-actor"}, "--param-server", "127.0.0.1:0", address},
      {actor, "--index", "", index},
      {actor, "--index", "first", index},
      {actor, "--index", "-1", index},
      {actor, "--index", "10000", index},
      {actor, "--index", "99999999999999999999", index},
      {actor, "--log-level", "loud", level},
      {{"waggle-learner"}, "--param-server", "here", address},
      {learner, "--log-level", "", level},
      {{"waggle-param-server", "--data-dir", "d"}, "--listen", "127.0.0.1:65536", address},
      {{"waggle-param-server", "--listen", "127.0.0.1:0"}, "--data-dir", "", "wanted a folder"},
      {hub, "--output-dir", "", "wanted a folder"},
      {hub, "--log-level", "7", level},
      // Its other flags are tested in replay_flags_test.cc, waggle's in command_line_test.cc.
      {{"waggle-replay-server"}, "--memory-bytes", "0", "wanted at least 1048576 bytes"},
      {{"waggle", "run", "x.yaml"}, "--actors", "5000", "wanted a whole number from 1 to 1024"},
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
                        Catch::Contains("\"" + one.value + "\"") && Catch::Contains(one.says));
    CHECK(std::count(log.begin(), log.end(), '\n') == 1);
  }
}

}  // namespace
}  // namespace waggle::testing
