#include "cli/run/output_folder.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::Contents;
using ::waggle::testing::TemporaryFolder;
using ::waggle::testing::ValueOf;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);  // 2023-11-14 22:13:20 UTC.

// Sets the working folder during a test.
class WorkingFolder {
 public:
  explicit WorkingFolder(const std::string& path) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  ~WorkingFolder() { std::filesystem::current_path(before_); }

 private:
  const std::filesystem::path before_;
};

TEST_CASE("Without a requested folder a run's folder has its name and the time", "[unit]") {
  const TemporaryFolder temporary;
  const WorkingFolder here(temporary.path());
  std::filesystem::create_directories("runs/pole-20231114-221320");  // Another run.
  const OutputFolder first = ValueOf(OutputFolder::Create("", "pole", kNow));
  CHECK(first.path() == "runs/pole-20231114-221320-2");
  CHECK(std::filesystem::is_directory(first.File("logs")));
  CHECK(std::filesystem::is_directory(first.File("hub")));
  CHECK(first.LogFile("actor-2") == "runs/pole-20231114-221320-2/logs/actor-2.log");
  CHECK(ValueOf(OutputFolder::Create("", "pole", kNow)).path() == "runs/pole-20231114-221320-3");
}

TEST_CASE("A requested folder may exist if it is empty, and a run is never overwritten", "[unit]") {
  const TemporaryFolder temporary;
  const std::string path = temporary.File("a/b");
  CHECK(ValueOf(OutputFolder::Create(path + "/", "pole", kNow)).path() == path);
  REQUIRE_CODE(OutputFolder::Create(path, "pole", kNow), absl::StatusCode::kAlreadyExists);
  std::filesystem::create_directory(temporary.File("empty"));
  REQUIRE_OK(OutputFolder::Create(temporary.File("empty"), "pole", kNow));
}

// The folder of a run that has begun.
std::string BegunRun(const TemporaryFolder& temporary) {
  const OutputFolder folder = ValueOf(OutputFolder::Create(temporary.File("run"), "pole", kNow));
  for (const char* const file : {"experiment.yaml", "hub/experiments.db", "hub/address", "metrics.csv"}) {
    std::ofstream(folder.File(file)) << "x";
  }
  return folder.path();
}

TEST_CASE("The folder of an earlier run is taken as it is, without its hub's address", "[unit]") {
  const TemporaryFolder temporary;
  const OutputFolder folder = ValueOf(OutputFolder::Take(BegunRun(temporary) + "/"));
  CHECK(folder.path() == temporary.File("run"));
  CHECK(Contents(folder.File("experiment.yaml")) == "x");
  CHECK_FALSE(std::filesystem::exists(folder.File("hub/address")));
}

TEST_CASE("A folder that a run uses is not taken, nor one without a run", "[unit]") {
  const TemporaryFolder temporary;
  const std::string path = BegunRun(temporary);
  {
    const OutputFolder user = ValueOf(OutputFolder::Take(path));
    REQUIRE_CODE(OutputFolder::Take(path), absl::StatusCode::kUnavailable);
  }
  REQUIRE_OK(OutputFolder::Take(path));
  std::filesystem::rename(path, temporary.File("moved"));
  REQUIRE_CODE(OutputFolder::Take(temporary.File("moved")), absl::StatusCode::kFailedPrecondition);
  std::filesystem::rename(temporary.File("moved"), path);
  REQUIRE_OK(OutputFolder::Take(path));
  std::filesystem::remove(path + "/hub/experiments.db");
  REQUIRE_CODE(OutputFolder::Take(path), absl::StatusCode::kNotFound);
  REQUIRE_CODE(OutputFolder::Take(temporary.File("nowhere")), absl::StatusCode::kNotFound);
  CHECK_FALSE(std::filesystem::exists(temporary.File("nowhere")));
}

TEST_CASE("The error names a folder that cannot be created", "[unit]") {
  const TemporaryFolder temporary;
  std::ofstream(temporary.File("file")) << "x";
  for (const std::string& path : {std::string("/proc/waggle"), temporary.File("file")}) {
    CHECK_THAT(std::string(OutputFolder::Create(path, "pole", kNow).status().message()), Catch::Contains(path));
    CHECK_THAT(std::string(OutputFolder::Create(path + "/x", "pole", kNow).status().message()), Catch::Contains(path));
  }
}

TEST_CASE("Files are written whole", "[unit]") {
  const TemporaryFolder temporary;
  const OutputFolder folder = ValueOf(OutputFolder::Create(temporary.File("out"), "pole", kNow));
  REQUIRE_OK(folder.Write("summary.json", "one"));
  REQUIRE_OK(folder.Write("summary.json", "two"));
  CHECK(Contents(folder.File("summary.json")) == "two");
  CHECK_FALSE(std::filesystem::exists(folder.File("summary.json.new")));
  std::filesystem::create_directory(folder.File("taken"));
  CHECK_FALSE(folder.Write("taken", "x").ok());
  CHECK_FALSE(folder.Write("no/such/folder", "x").ok());
}

TEST_CASE("The last lines of a log are found, however long it is", "[unit]") {
  const TemporaryFolder temporary;
  const OutputFolder folder = ValueOf(OutputFolder::Create(temporary.File("out"), "pole", kNow));
  CHECK(folder.LastLogLines("learner", 3).empty());
  std::ofstream log(folder.LogFile("learner"));
  for (int i = 0; i < 10'000; ++i) {
    log << "line " << i << "\n";
  }
  log << std::flush;
  CHECK(folder.LastLogLines("learner", 2) == std::vector<std::string>{"line 9998", "line 9999"});
}

}  // namespace
}  // namespace waggle
