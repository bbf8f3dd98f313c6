#include "cli/results/run_program.h"

#include "common/base/threads/thread.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::ValueOf;

TEST_CASE("A program's exit status is that of a shell", "[unit]") {
  CHECK(ValueOf(RunProgram({"/bin/sh", "-c", "exit 7"}, StopToken())) == 7);
  CHECK(ValueOf(RunProgram({"/bin/sh", "-c", "kill -9 $$"}, StopToken())) == 137);
  CHECK_FALSE(RunProgram({"/nowhere"}, StopToken()).ok());
}

TEST_CASE("A program's output goes to its log", "[unit]") {
  const testing::TemporaryFolder folder;
  CHECK(ValueOf(RunProgram({"/bin/sh", "-c", "echo one; echo two >&2"}, StopToken(), folder.File("log"))) == 0);
  CHECK(testing::Contents(folder.File("log")) == "one\ntwo\n");
}

TEST_CASE("A program is asked to end after a stop, and may tidy up", "[unit]") {
  const testing::TemporaryFolder folder;
  const StopToken stop;
  Thread stopper("stopper", [&] {
    testing::Eventually("the program", [&] { return !testing::Contents(folder.File("up")).empty(); });
    stop.RequestStop();
  });
  const std::string script = "trap 'echo tidy > " + folder.File("end") + "; exit 3' TERM; echo up > " +
                             folder.File("up") + "; while :; do sleep 0.01; done";
  CHECK(ValueOf(RunProgram({"/bin/sh", "-c", script}, stop)) == 3);
  CHECK(testing::Contents(folder.File("end")) == "tidy\n");
}

}  // namespace
}  // namespace waggle
