// Tests of the executable; tests/cli/command_line_test.cc tests its command line.

#include <string>
#include <utility>
#include <vector>

#include "common/base/process/child_process.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/child_exit.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::Contents;
using ::waggle::testing::TemporaryFolder;
using ::waggle::testing::ValueOf;

const std::string kConfig = std::string(WAGGLE_TEST_CONFIG_DIR) + "/cartpole_apex_dqn.yaml";

// Runs `waggle` with these words in a shell: the exit status, and the text on the standard error stream.
std::pair<int, std::string> Shell(const std::string& words) {
  const TemporaryFolder folder;
  ChildOptions options;
  options.command = {"/bin/sh", "-c", std::string(WAGGLE_TEST_BIN_DIR) + "/waggle " + words};
  options.log_path = folder.File("log");
  const auto shell = ValueOf(ChildProcess::Spawn(options));
  const int status = testing::WaitForExit(shell.get()).ShellStatus();
  return {status, Contents(folder.File("log"))};
}

TEST_CASE("A verb whose output cannot be written fails", "[e2e]") {
  const std::string said = "waggle: the standard output cannot be written to\n";
  for (const std::string& words : {std::string("--version"), std::string("help run"), "check " + kConfig}) {
    INFO(words);
    CHECK(Shell(words + " > /dev/full") == std::pair(1, said));
    CHECK(Shell(words + " > /dev/null") == std::pair(0, std::string()));
  }
  // No server answers, and the exit status is that of this error.
  CHECK(Shell("status --json --replay-server 127.0.0.1:1 > /dev/full").first == 1);
}

TEST_CASE("check only warns of too little memory, as the experiment may be meant for another machine", "[e2e]") {
  const auto [status, said] = Shell("check " + kConfig +
                                    " --set networks.q.torso[0].units='[65536, 65536, 65536, 65536]' --set "
                                    "actor.processes=1024 > /dev/null");
  CHECK(status == 0);
  CHECK_THAT(said, Catch::StartsWith("waggle check: warning: about ") && Catch::Contains(" MiB of memory are needed"));
}

}  // namespace
}  // namespace waggle
