#include "param_server/results/result_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

class Experiment {
 public:
  Experiment() {
    std::filesystem::create_directories(folders.output);
    std::filesystem::create_directories(folders.hub);
  }

  void Write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
  }
  void WriteOutput(const std::string& name, const std::string& text) const { Write(folders.output + "/" + name, text); }
  void WriteHub(const std::string& name, const std::string& text) const { Write(folders.hub + "/" + name, text); }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const ResultFile& file : ListResults(folders).files) {
      names.push_back(file.name);
    }
    return names;
  }
  // The listed file of this name.
  ResultFile Listed(const std::string& name) const {
    for (ResultFile& file : ListResults(folders).files) {
      if (file.name == name) {
        return file;
      }
    }
    FAIL(name << " is not listed");
    return {};
  }
  absl::Status TryOpen(const ResultFile& file) const {
    return OpenResult(folders, file.name, file.identity, static_cast<uint64_t>(file.size)).status();
  }

  const TemporaryFolder folder;
  const ResultFolders folders = {folder.File("output"), folder.File("hub")};
};

constexpr char kCheckpoint[] = "/checkpoint.safetensors";

TEST_CASE("a listing has an experiment's results and nothing else, and names what is missing", "[unit]") {
  const Experiment experiment;
  for (const char* const name : {"summary.json", "experiment.yaml", "metrics.csv", "events.out.tfevents.17.host",
                                 "secret", "checkpoints/step-000000000012/checkpoint.safetensors", ".metrics.csv"}) {
    experiment.WriteOutput(name, "x\n");
  }
  experiment.WriteHub(std::string("weights/best/step-000000000012") + kCheckpoint, "best");
  experiment.WriteHub(std::string("weights/best/step-000000000012.replaced") + kCheckpoint, "old");
  experiment.WriteHub(std::string("weights/newest/step-000000000014") + kCheckpoint, "newest");
  experiment.WriteHub("hub.state", "state");
  CHECK(experiment.Names() == std::vector<std::string>{"summary.json", "experiment.yaml", "metrics.csv",
                                                       "events.out.tfevents.17.host",
                                                       "best/step-000000000012/checkpoint.safetensors"});
  CHECK(ListResults(experiment.folders).missing == std::vector<std::string>{"curves.png"});
  CHECK(experiment.Listed("best/step-000000000012/checkpoint.safetensors").size == 4);
}

TEST_CASE("without best weights the newest are listed", "[unit]") {
  const Experiment experiment;
  experiment.WriteHub(std::string("weights/newest/step-000000000014") + kCheckpoint, "newest");
  CHECK(experiment.Names() == std::vector<std::string>{"newest/step-000000000014/checkpoint.safetensors"});
  const std::vector<std::string> missing = ListResults(experiment.folders).missing;
  CHECK(std::find(missing.begin(), missing.end(), "best") != missing.end());
}

TEST_CASE("a figures' file is listed up to its last whole row", "[unit]") {
  const Experiment experiment;
  experiment.WriteOutput("metrics.csv", "step,seconds\n1,2\n3,");
  CHECK(experiment.Listed("metrics.csv").size == 17);
  experiment.WriteOutput("metrics.csv", "step");
  CHECK(experiment.Listed("metrics.csv").size == 0);
}

TEST_CASE("a file that has grown is still the listed one, and one that was replaced or cut is not", "[unit]") {
  const Experiment experiment;
  experiment.WriteOutput("metrics.csv", "1\n");
  experiment.WriteOutput("summary.json", "{}\n");
  const ResultFile figures = experiment.Listed("metrics.csv");
  const ResultFile summary = experiment.Listed("summary.json");
  std::ofstream(experiment.folders.output + "/metrics.csv", std::ios::app) << "2\n";
  CHECK(experiment.TryOpen(figures).ok());
  CHECK(experiment.TryOpen(summary).ok());
  const std::string path = experiment.folders.output + "/summary.json";
  std::ofstream(path + ".new") << "{}\n";  // While the old one exists, so that it gets another inode.
  REQUIRE(rename((path + ".new").c_str(), path.c_str()) == 0);
  CHECK(absl::IsAborted(experiment.TryOpen(summary)));
  REQUIRE(truncate((experiment.folders.output + "/metrics.csv").c_str(), 0) == 0);
  CHECK(absl::IsAborted(experiment.TryOpen(figures)));
  REQUIRE(unlink(path.c_str()) == 0);
  CHECK(absl::IsNotFound(experiment.TryOpen(summary)));
}

TEST_CASE("only names of the listing are opened, and no links, pipes or folders", "[unit]") {
  const Experiment experiment;
  experiment.WriteOutput("summary.json", "{}\n");
  experiment.WriteOutput("secret", "x");
  for (const char* const name :
       {"secret", "../output/summary.json", "/etc/passwd", "", ".", "best", "./summary.json"}) {
    INFO(name);
    CHECK(absl::IsNotFound(experiment.TryOpen({name, 0, 0})));
  }
  REQUIRE(symlink((experiment.folders.output + "/secret").c_str(),
                  (experiment.folders.output + "/experiment.yaml").c_str()) == 0);
  REQUIRE(mkfifo((experiment.folders.output + "/metrics.csv").c_str(), 0600) == 0);
  std::filesystem::create_directory(experiment.folders.output + "/curves.png");
  CHECK(experiment.Names() == std::vector<std::string>{"summary.json"});
}

}  // namespace
}  // namespace waggle::testing
