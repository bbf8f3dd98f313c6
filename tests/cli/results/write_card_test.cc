#include "cli/results/write_card.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "common/hub/summary/run_summary.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/checkpoint/saved_model.h"
#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::Contents;
using ::waggle::testing::TemporaryFolder;
using ::waggle::testing::ValueOf;

// A run's folder with weights and a summary.
class Run {
 public:
  Run() {
    SavedModel model;
    model.snapshot.version = {1, 12};
    model.experiment_yaml = "experiment: {name: pole}\n";
    const auto store = ValueOf(CheckpointStore::Open(folder.File("run/best"), 1));
    REQUIRE_OK(WriteSavedModel(model, store.get()));
    RunSummary summary;
    summary.experiment = "pole";
    summary.result.emplace();
    WriteFile("summary.json", summary.ToJson());
    WriteFile("curves.png", "png");
    // It films: writes a file into the folder of its flag --video.
    std::filesystem::create_directory(folder.File("bin"));
    std::ofstream(folder.File("bin/waggle-actor"))
        << "#!/bin/sh\nfor word in \"$@\"; do case \"$word\" in --video=*) dir=\"${word#--video=}\";; esac; done\n"
        << "mkdir \"$dir\" && echo film > \"$dir/episode-0.webp\"\n";
    std::filesystem::permissions(folder.File("bin/waggle-actor"), std::filesystem::perms::owner_all);
  }

  void WriteFile(const std::string& name, const std::string& text) const {
    std::ofstream(folder.File("run/" + name)) << text;
  }
  absl::StatusOr<std::string> Write(const CardFlags& flags = {}) const {
    return WriteCard(folder.File("run"), folder.File("card"), flags, folder.File("bin"), StopToken());
  }
  std::string Written(const std::string& name) const { return Contents(folder.File("card/" + name)); }

  const TemporaryFolder folder;
};

TEST_CASE("A card's folder has the card, the weights, the experiment and the curves", "[unit]") {
  const Run run;
  const std::string said = ValueOf(run.Write());
  CHECK_THAT(said, Catch::StartsWith("wrote " + run.folder.File("card") + "\n"));
  CHECK_THAT(said, Catch::Contains("without policy.onnx: "));  // This experiment is not complete.
  CHECK_THAT(run.Written("README.md"), Catch::Contains("pole") && Catch::Contains("(curves.png)"));
  CHECK(run.Written("experiment.yaml") == "experiment: {name: pole}\n");
  CHECK(run.Written("curves.png") == "png");
  CHECK(nlohmann::json::parse(run.Written("summary.json")).at("experiment") == "pole");
  CHECK(ValueOf(LoadSavedModel(run.folder.File("card/best"))).snapshot.version == ModelVersion{1, 12});
  CHECK_FALSE(std::filesystem::exists(run.folder.File("card/films")));
}

TEST_CASE("A card has a film if one is asked for", "[unit]") {
  const Run run;
  CardFlags flags;
  flags.video = true;
  REQUIRE_OK(run.Write(flags));
  CHECK(run.Written("films/episode-0.webp") == "film\n");
  CHECK_FALSE(std::filesystem::exists(run.folder.File("card/film.log")));
  CHECK_THAT(run.Written("README.md"), Catch::Contains("(films/episode-0.webp)"));
}

TEST_CASE("A card whose film fails is not written", "[unit]") {
  const Run run;
  std::ofstream(run.folder.File("bin/waggle-actor")) << "#!/bin/sh\necho no camera\nexit 3\n";
  CardFlags flags;
  flags.video = true;
  CHECK_THAT(std::string(run.Write(flags).status().message()), Catch::Contains("no camera"));
  CHECK_FALSE(std::filesystem::exists(run.folder.File("card")));
}

TEST_CASE("A card replaces an earlier one, and nothing else", "[unit]") {
  const Run run;
  REQUIRE_OK(run.Write());
  run.WriteFile("curves.png", "another");
  REQUIRE_OK(run.Write());
  CHECK(run.Written("curves.png") == "another");
  std::ofstream(run.folder.File("card/README.md")) << "# Mine\n";
  CHECK(absl::IsAlreadyExists(run.Write().status()));
  CHECK(run.Written("README.md") == "# Mine\n");
}

TEST_CASE("A folder that is no run, a run that goes on, and one without weights get no card", "[unit]") {
  const Run run;
  CHECK(absl::IsNotFound(WriteCard(run.folder.File("nowhere"), run.folder.File("card"), {}, "", StopToken()).status()));
  CHECK(absl::IsFailedPrecondition(
      WriteCard(run.folder.File("bin"), run.folder.File("card"), {}, "", StopToken()).status()));
  run.WriteFile("summary.json", "[");
  CHECK(absl::IsInvalidArgument(run.Write().status()));
  RunSummary summary;
  summary.result.emplace();
  run.WriteFile("summary.json", summary.ToJson());
  std::filesystem::remove_all(run.folder.File("run/best"));
  CHECK(absl::IsNotFound(run.Write().status()));
  CHECK_FALSE(std::filesystem::exists(run.folder.File("card")));
}

}  // namespace
}  // namespace waggle
