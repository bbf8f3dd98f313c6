#include "cli/results/named_runs.h"

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/file_contents.h"
#include "tests/cli/results/hub_with_results.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using ::waggle::testing::Contents;
using ::waggle::testing::HubWithResults;
using ::waggle::testing::ValueOf;

TEST_CASE("A path stays as it is, and the files of an experiment are fetched and removed at the end", "[grpc]") {
  const HubWithResults hub;
  hub.Write("summary.json", "{}\n");
  std::string fetched;
  {
    const auto runs = ValueOf(NamedRuns::Find({hub.folders.output, HubWithResults::kId, "no/such.yaml"}, hub.address(),
                                              NamedRuns::Members::kOne, StopToken()));
    REQUIRE(runs->paths().size() == 3);
    CHECK(runs->paths()[0] == hub.folders.output);
    CHECK(runs->paths()[2] == "no/such.yaml");  // The verb says what is wrong with it.
    fetched = runs->paths()[1];
    CHECK(std::filesystem::path(fetched).filename() == HubWithResults::kId);
    CHECK(Contents(fetched + "/summary.json") == "{}\n");
    CHECK(runs->any_fetched());
  }
  CHECK_FALSE(std::filesystem::exists(fetched));
  CHECK_FALSE(ValueOf(NamedRuns::Find({hub.folders.output}, hub.address(), NamedRuns::Members::kOne, StopToken()))
                  ->any_fetched());
}

TEST_CASE("A folder with an experiment's id for its name wins over the experiment", "[grpc]") {
  const HubWithResults hub;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(hub.folder.path());
  std::filesystem::create_directory(HubWithResults::kId);
  const auto runs = NamedRuns::Find({HubWithResults::kId}, hub.address(), NamedRuns::Members::kOne, StopToken());
  std::filesystem::current_path(before);
  CHECK(ValueOf(runs.status().ok() ? absl::StatusOr<bool>((*runs)->any_fetched()) : runs.status()) == false);
}

TEST_CASE("A group stands for its members, but not where one experiment is wanted", "[grpc]") {
  HubWithResults hub;
  hub.Write("summary.json", "{}\n");
  hub.MakeGroup();
  const auto all = ValueOf(NamedRuns::Find({"pole"}, hub.address(), NamedRuns::Members::kAll, StopToken()));
  REQUIRE(all->paths().size() == 2);
  CHECK(std::filesystem::path(all->paths()[1]).filename() == "pole-1");
  CHECK(all->left_out() == std::vector<std::string>{"pole-empty"});
  CHECK(absl::IsFailedPrecondition(
      NamedRuns::Find({"pole"}, hub.address(), NamedRuns::Members::kOne, StopToken()).status()));
}

TEST_CASE("A word that is neither a path nor an experiment is not found", "[grpc]") {
  const HubWithResults hub;
  CHECK(absl::IsNotFound(NamedRuns::Find({"nothing"}, hub.address(), NamedRuns::Members::kOne, StopToken()).status()));
  const absl::Status no_hub = NamedRuns::Find({"nothing"}, "", NamedRuns::Members::kAll, StopToken()).status();
  CHECK(absl::IsNotFound(no_hub));
  CHECK_THAT(std::string(no_hub.message()), Catch::Contains("--param-server"));
}

}  // namespace
}  // namespace waggle
