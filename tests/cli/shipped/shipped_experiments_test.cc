#include "cli/shipped/shipped_experiments.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/base/process/find_program.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST_CASE("Experiments that ship are listed by name, with the first sentence of their comments", "[unit]") {
  const TemporaryFolder folder;
  Write(folder.File("b.yaml"),
        "# Balances a pole: by\n# PPO. More.\n#\n# Less.\nenvironment: {name: CartPole-v1}\nalgorithm: {name: ppo}\n");
  Write(folder.File("a.yaml"), "algorithm: {name: sac}\nenvironment: {gymnasium: {id: \"my_game:Corridor\"}}\n");
  Write(folder.File("README.md"), "not an experiment\n");
  const std::vector<ShippedExperiment> listed = ValueOf(ListShipped(folder.path()));
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].name == "a");
  CHECK(listed[0].algorithm == "sac");
  CHECK(listed[0].environment == "my_game/Corridor");  // As `waggle list` shows it.
  CHECK(listed[0].description.empty());
  CHECK(listed[1].name == "b");
  CHECK(listed[1].environment == "CartPole-v1");
  CHECK(listed[1].description == "Balances a pole: by PPO");
  CHECK(ShippedText({{"one", "ppo", "A-v0", "x"}, {"three", "a2c_long", "B", "y"}}) ==
        "one    ppo       A-v0  x\n"
        "three  a2c_long  B     y\n");
}

TEST_CASE("A file that cannot be read is named", "[unit]") {
  const TemporaryFolder folder;
  Write(folder.File("broken.yaml"), "environment: [\n");
  const absl::Status status = ListShipped(folder.path()).status();
  CHECK_THAT(std::string(status.message()), Catch::Contains("broken.yaml:"));
  REQUIRE_CODE(ListShipped(folder.File("missing")), absl::StatusCode::kNotFound);
}

TEST_CASE("A word is a file if it is one or looks like one, and otherwise names an experiment that ships", "[unit]") {
  const TemporaryFolder folder;
  const std::string shipped = ShippedFolder(folder.File("bin"));
  std::filesystem::create_directories(folder.File("bin"));
  std::filesystem::create_directories(folder.File("share/waggle/configs"));
  const std::string file = folder.File("share/waggle/configs/cartpole_ppo.yaml");
  Write(file, "");
  CHECK(ValueOf(ExperimentFile(shipped, "cartpole_ppo")) == file);
  CHECK(ValueOf(ExperimentFile(shipped, "cartpole_ppo.yaml")) == "cartpole_ppo.yaml");
  CHECK(ValueOf(ExperimentFile(shipped, "mine/x")) == "mine/x");
  CHECK(ValueOf(ExperimentFile(shipped, "")).empty());
  for (const absl::StatusOr<std::string>& unknown :
       {ExperimentFile(shipped, "cartpole_pp"), ShippedFile(shipped, "cartpole_pp")}) {
    REQUIRE_CODE(unknown, absl::StatusCode::kNotFound);
    CHECK_THAT(std::string(unknown.status().message()), Catch::Contains("did you mean \"cartpole_ppo\"?"));
  }
  REQUIRE_CODE(ShippedFile(shipped, "../configs/cartpole_ppo"), absl::StatusCode::kNotFound);

  // A file without a suffix is a file, even if an experiment has its name; a folder is not a file.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directories(folder.File("here/cartpole_ppo"));
  std::filesystem::current_path(folder.File("here"));
  const absl::StatusOr<std::string> beside_folder = ExperimentFile(shipped, "cartpole_ppo");
  std::filesystem::remove("cartpole_ppo");
  Write("cartpole_ppo", "");
  const absl::StatusOr<std::string> beside_file = ExperimentFile(shipped, "cartpole_ppo");
  std::filesystem::current_path(before);
  CHECK(ValueOf(beside_folder) == file);
  CHECK(ValueOf(beside_file) == "cartpole_ppo");
}

TEST_CASE("Every experiment of configs is beside the executables, with an algorithm and a sentence", "[unit]") {
  const std::vector<ShippedExperiment> listed = ValueOf(ListShipped(ShippedFolder(OwnFolder())));
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WAGGLE_TEST_CONFIG_DIR)) {
    files += entry.path().extension() == ".yaml" ? 1 : 0;
  }
  CHECK(listed.size() == files);
  for (const ShippedExperiment& experiment : listed) {
    INFO(experiment.name);
    CHECK(!experiment.algorithm.empty());
    CHECK(!experiment.environment.empty());
    CHECK(!experiment.description.empty());
  }
}

}  // namespace
}  // namespace waggle
