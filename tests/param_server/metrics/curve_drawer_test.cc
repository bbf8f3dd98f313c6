#include "param_server/metrics/curve_drawer.h"

#include <filesystem>
#include <fstream>

#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::Contents;
using testing::Eventually;

// Executables with another script beside them.
struct Scripted {
  explicit Scripted(const std::string& script) {
    std::filesystem::create_directories(folder.File("share/waggle"));
    std::filesystem::create_directory(folder.File("bin"));
    std::ofstream(folder.File("share/waggle/plot_runs.py")) << script;
  }
  std::string Log(const std::string& run) const { return Contents(folder.File(run + ".log")); }
  void Draw(const std::string& run, CurveDrawer* drawer) const { drawer->Draw(run, folder.File(run + ".log")); }

  const testing::TemporaryFolder folder;
};

TEST_CASE("The curves of each run are drawn, also after a drawing that failed", "[unit]") {
  const Scripted scripted("import sys; print(sys.argv[1:]); sys.exit(sys.argv[2] == 'first')\n");
  CurveDrawer drawer(scripted.folder.File("bin"));
  scripted.Draw("first", &drawer);
  scripted.Draw("second", &drawer);
  Eventually("the second drawing", [&] { return scripted.Log("second") == "['--', 'second']\n"; });
  CHECK(scripted.Log("first") == "['--', 'first']\n");
}

TEST_CASE("A drawing that takes too long is ended, and a stop does not wait for it", "[unit]") {
  const std::string waits = "import signal, sys\nprint(sys.argv[2], flush=True)\nsignal.pause()\n";
  const Scripted scripted(waits);
  {
    CurveDrawer drawer(scripted.folder.File("bin"), absl::Milliseconds(1));
    scripted.Draw("first", &drawer);
    scripted.Draw("second", &drawer);
    Eventually("the second drawing", [&] { return std::filesystem::exists(scripted.folder.File("second.log")); });
  }
  CurveDrawer drawer(scripted.folder.File("bin"));
  scripted.Draw("third", &drawer);
  scripted.Draw("fourth", &drawer);
  Eventually("the third drawing", [&] { return scripted.Log("third") == "third\n"; });
  // The destructor does not wait, or this test would not end.
}

}  // namespace
}  // namespace waggle
