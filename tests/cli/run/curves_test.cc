#include "cli/run/curves.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::Contents;
using testing::TemporaryFolder;
using testing::ValueOf;

// Executables with another script beside them, a run's folder, and signals as `waggle run` has them.
class Fixture {
 public:
  explicit Fixture(const std::optional<std::string>& script) {
    sigset_t waited;
    sigemptyset(&waited);
    sigaddset(&waited, SIGCHLD);
    sigaddset(&waited, SIGUSR1);
    sigprocmask(SIG_BLOCK, &waited, &before_);
    signals_ = signalfd(-1, &waited, SFD_CLOEXEC | SFD_NONBLOCK);
    REQUIRE(signals_ >= 0);
    std::filesystem::create_directories(folder_.File("share/waggle"));
    std::filesystem::create_directory(folder_.File("bin"));
    if (script.has_value()) {
      std::ofstream(folder_.File("share/waggle/plot_runs.py")) << *script;
    }
  }
  ~Fixture() {
    close(signals_);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  std::string Draw(absl::Duration timeout = absl::InfiniteDuration()) {
    return DrawCurves(folder_.File("bin"), run_, signals_, timeout);
  }
  std::string bin() const { return folder_.File("bin"); }
  const OutputFolder& run() const { return run_; }

 private:
  const TemporaryFolder folder_;
  const OutputFolder run_ = ValueOf(OutputFolder::Create(folder_.File("run"), "x", absl::Now()));
  sigset_t before_ = {};
  int signals_ = -1;
};

constexpr char kWaitsForEver[] = "import signal\nsignal.pause()\n";

TEST_CASE("The script is told which runs to draw, and where", "[unit]") {
  Fixture fixture("import sys; print(sys.argv[1:])\n");
  CHECK(fixture.Draw() == "its curves are in " + fixture.run().File("curves.png"));
  CHECK(Contents(fixture.run().LogFile("curves")) == "['--', '" + fixture.run().path() + "']\n");
  const auto command = ValueOf(PlotCommand(fixture.bin(), {"a", "-b"}, "c.png", /*returns_only=*/true));
  CHECK(std::vector<std::string>(command.begin() + 1, command.end()) ==
        std::vector<std::string>{fixture.bin() + "/../share/waggle/plot_runs.py", "--returns", "--out=c.png", "--", "a",
                                 "-b"});
}

TEST_CASE("Curves that cannot be drawn are one line with the reason", "[unit]") {
  Fixture missing(std::nullopt);
  CHECK(missing.Draw() == absl::StrCat("no curves were drawn: ", missing.bin(),
                                       "/../share/waggle/plot_runs.py, which draws curves, is not there"));
  Fixture silent("raise SystemExit(7)\n");
  CHECK(silent.Draw() == "no curves were drawn: exited with status 7");
  Fixture talking("import sys\nprint('one')\nsys.exit('what is wrong')\n");
  CHECK(talking.Draw() == "no curves were drawn: what is wrong");
}

TEST_CASE("A drawing that takes too long is ended, and so is one when the user interrupts", "[unit]") {
  Fixture slow(kWaitsForEver);
  CHECK_THAT(slow.Draw(absl::Milliseconds(1)), Catch::StartsWith("no curves were drawn: it took too long"));
  Fixture interrupted(kWaitsForEver);
  raise(SIGUSR1);
  CHECK_THAT(interrupted.Draw(), Catch::StartsWith("no curves were drawn: it took too long or was interrupted; waggle "
                                                   "plot " +
                                                   interrupted.run().path()));
}

TEST_CASE("The Python in the path comes first, and the system's where there is none", "[unit]") {
  const Fixture fixture("");
  const TemporaryFolder empty;
  const std::string path = getenv("PATH");
  std::ofstream(empty.File("python3")) << "#!/bin/sh\n";
  setenv("PATH", absl::StrCat("/nowhere:", empty.path()).c_str(), 1);
  const auto without = PlotCommand(fixture.bin(), {"a"}, "", /*returns_only=*/false);
  std::filesystem::permissions(empty.File("python3"), std::filesystem::perms::owner_all);
  const auto with = PlotCommand(fixture.bin(), {"a"}, "", /*returns_only=*/false);
  setenv("PATH", path.c_str(), 1);
  CHECK(ValueOf(with).front() == empty.File("python3"));
  CHECK(ValueOf(without).front() == "/usr/bin/python3");
}

}  // namespace
}  // namespace waggle
