#include "common/base/process/curves.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/threads/stop_token.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::Contents;
using testing::TemporaryFolder;
using testing::ValueOf;

// Executables with another script beside them, and a run's folder.
class Fixture {
 public:
  explicit Fixture(const std::optional<std::string>& script) {
    std::filesystem::create_directories(folder_.File("share/waggle"));
    std::filesystem::create_directory(folder_.File("bin"));
    if (script.has_value()) {
      std::ofstream(folder_.File("share/waggle/plot_runs.py")) << *script;
    }
  }

  absl::Status Draw(absl::Duration timeout = absl::InfiniteDuration(), const StopToken& stop = StopToken()) const {
    const auto wait = [&stop](absl::Duration duration) { return stop.WaitFor(duration); };
    return DrawCurves(bin(), run(), log(), wait, timeout);
  }
  std::string bin() const { return folder_.File("bin"); }
  std::string run() const { return folder_.File("run"); }
  std::string log() const { return folder_.File("log"); }

 private:
  const TemporaryFolder folder_;
};

constexpr char kWaitsForEver[] = "import signal\nsignal.pause()\n";

TEST_CASE("The script gets the runs and the file, and yields the CPU to others", "[unit]") {
  const Fixture fixture("import os, sys; print(sys.argv[1:], os.nice(0) > 0 or os.nice(0))\n");
  REQUIRE_OK(fixture.Draw());
  CHECK(Contents(fixture.log()) == "['--', '" + fixture.run() + "'] True\n");
  const auto command = ValueOf(PlotCommand(fixture.bin(), {"a", "-b"}, "c.png", /*returns_only=*/true));
  CHECK(std::vector<std::string>(command.begin() + 1, command.end()) ==
        std::vector<std::string>{fixture.bin() + "/../share/waggle/plot_runs.py", "--returns", "--out=c.png", "--", "a",
                                 "-b"});
}

TEST_CASE("The script that compares runs gets them and the score", "[unit]") {
  const Fixture fixture("");
  std::ofstream(fixture.bin() + "/../share/waggle/compare_runs.py") << "";
  const auto command = ValueOf(CompareCommand(fixture.bin(), {"a", "-b"}, "area", /*json=*/true));
  CHECK(std::vector<std::string>(command.begin() + 1, command.end()) ==
        std::vector<std::string>{fixture.bin() + "/../share/waggle/compare_runs.py", "--json", "--by=area", "--", "a",
                                 "-b"});
}

TEST_CASE("Curves that cannot be drawn are an error with the reason", "[unit]") {
  const Fixture missing(std::nullopt);
  CHECK(missing.Draw().message() ==
        absl::StrCat(missing.bin(), "/../share/waggle/plot_runs.py, which draws curves, is not there"));
  CHECK(Fixture("raise SystemExit(7)\n").Draw().message() == "exited with status 7");
  CHECK(Fixture("import sys\nprint('one')\nsys.exit('what is wrong')\n").Draw().message() == "what is wrong");
}

TEST_CASE("A drawing that takes too long is ended, and so is one that is interrupted", "[unit]") {
  const Fixture slow(kWaitsForEver);
  CHECK_THAT(std::string(slow.Draw(absl::Milliseconds(1)).message()),
             Catch::Contains("too long or was interrupted; waggle plot " + slow.run()));
  const StopToken stop;
  stop.RequestStop();
  REQUIRE_CODE(slow.Draw(absl::InfiniteDuration(), stop), absl::StatusCode::kCancelled);
}

TEST_CASE("The Python in the path comes first, and then the system's", "[unit]") {
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
