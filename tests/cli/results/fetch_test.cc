#include "cli/results/fetch.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/file_contents.h"
#include "tests/cli/results/hub_with_results.h"
#include "tests/support/catch.h"
#include "tests/support/tcp_proxy.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::Contents;
using ::waggle::testing::HubWithResults;
using ::waggle::testing::TcpProxy;
using ::waggle::testing::TemporaryFolder;
using ::waggle::testing::ValueOf;

constexpr char kId[] = "pole-x7k2q";
constexpr auto& kBest = HubWithResults::kBest;

// A hub with results, and a place for their copies.
class Hub : public HubWithResults {
 public:
  FetchOptions Options() const {
    FetchOptions options;
    options.param_server = address();
    options.id = kId;
    options.folder = folder.File("copy");
    return options;
  }
  std::string Copied(const std::string& name) const { return Contents(folder.File("copy/" + name)); }
};

TEST_CASE("An experiment's files are copied, with its events, and missing files are named", "[grpc]") {
  const Hub hub;
  hub.Write("summary.json", "{}\n");
  hub.Write("metrics.csv", "step,seconds\n1,2\n3");
  const std::string weights(3'000'000, 'w');
  hub.WriteBest(weights);
  const FetchedRun run = ValueOf(FetchRun(hub.Options(), StopToken()));
  CHECK(run.files == std::vector<std::string>{"summary.json", "metrics.csv", kBest, "events.jsonl"});
  CHECK(run.missing == std::vector<std::string>{"events.out.*", "experiment.yaml", "curves.png"});
  CHECK(run.bytes == 3'000'000 + 3 + 17);
  CHECK(hub.Copied("summary.json") == "{}\n");
  CHECK(hub.Copied("metrics.csv") == "step,seconds\n1,2\n");
  CHECK(hub.Copied(kBest) == weights);
  CHECK(nlohmann::json::parse(hub.Copied("events.jsonl")).at("text") == "begins");
  CHECK(nlohmann::json::parse(hub.Copied("fetched.json")).at("id") == kId);
}

TEST_CASE("A later copy replaces an earlier one of the same experiment, and nothing else", "[grpc]") {
  const Hub hub;
  hub.Write("summary.json", "1");
  REQUIRE_OK(FetchRun(hub.Options(), StopToken()));
  hub.Write("summary.json", "22");
  hub.Write("curves.png", "png");
  REQUIRE_OK(FetchRun(hub.Options(), StopToken()));
  CHECK(hub.Copied("summary.json") == "22");
  CHECK(hub.Copied("curves.png") == "png");
  std::ofstream(hub.folder.File("copy/fetched.json")) << R"({"id": "another"})";
  CHECK(absl::IsAlreadyExists(FetchRun(hub.Options(), StopToken()).status()));
  std::filesystem::remove(hub.folder.File("copy/fetched.json"));
  CHECK(absl::IsAlreadyExists(FetchRun(hub.Options(), StopToken()).status()));
  CHECK(hub.Copied("summary.json") == "22");
  std::filesystem::remove_all(hub.folder.File("copy"));
  std::filesystem::create_directory(hub.folder.File("copy"));
  REQUIRE_OK(FetchRun(hub.Options(), StopToken()));
  // Nothing is left beside the copy.
  CHECK(std::distance(std::filesystem::directory_iterator(hub.folder.path()), {}) == 3);
}

TEST_CASE("An experiment without files, and an unknown one, make no folder", "[grpc]") {
  const Hub hub;
  CHECK(absl::IsFailedPrecondition(FetchRun(hub.Options(), StopToken()).status()));
  FetchOptions unknown = hub.Options();
  unknown.id = "pole-00000";
  CHECK(absl::IsNotFound(FetchRun(unknown, StopToken()).status()));
  CHECK(std::distance(std::filesystem::directory_iterator(hub.folder.path()), {}) == 2);
}

TEST_CASE("A copy goes on after its connection was cut in the middle of a file", "[grpc]") {
  const Hub hub;
  std::string weights(6'000'000, '\0');
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<char>(i % 251);
  }
  hub.WriteBest(weights);
  TcpProxy proxy(hub.address());
  proxy.CutAfter(TcpProxy::kToClient, 3'000'000);
  FetchOptions options = hub.Options();
  options.param_server = proxy.address();
  REQUIRE_OK(FetchRun(options, StopToken()));
  CHECK(proxy.cuts() == 1);
  CHECK(hub.Copied(kBest) == weights);
}

TEST_CASE("Copied files are told as text, and as JSON with their folder", "[grpc]") {
  const Hub hub;
  hub.Write("summary.json", "{}\n");
  FetchFlags flags;
  flags.param_server = hub.address();
  flags.id = kId;
  flags.folder = hub.folder.File("copy");
  CHECK_THAT(ValueOf(Fetch(flags, StopToken())), Catch::Contains("summary.json") && Catch::Contains("curves.png"));
  flags.json = true;
  const auto json = nlohmann::json::parse(ValueOf(Fetch(flags, StopToken())));
  CHECK(json.at("id") == kId);
  CHECK(json.at("state") == "running");
  CHECK(json.at("folder") == flags.folder);
}

TEST_CASE("The members of a group are copied to a folder each, with their settings", "[grpc]") {
  Hub hub;
  hub.Write("summary.json", "{}\n");
  hub.MakeGroup();
  FetchFlags flags;
  flags.param_server = hub.address();
  flags.id = "pole";
  flags.folder = hub.folder.File("copy/");
  flags.json = true;
  const auto json = nlohmann::json::parse(ValueOf(Fetch(flags, StopToken())));
  CHECK(json.at("group") == "pole");
  CHECK(json.at("members").size() == 2);
  CHECK(json.at("without_files") == nlohmann::json{"pole-empty"});
  CHECK(hub.Copied("pole-1/summary.json") == "{}\n");
  CHECK(nlohmann::json::parse(hub.Copied("pole-0/fetched.json")).at("settings") ==
        nlohmann::json{{"learner.x", "pole-0"}});
  CHECK_FALSE(std::filesystem::exists(hub.folder.File("copy/pole-empty")));
}

TEST_CASE("A copy that is stopped leaves nothing", "[grpc]") {
  const Hub hub;
  hub.Write("summary.json", "{}\n");
  StopToken stop;
  stop.RequestStop();
  CHECK_FALSE(FetchRun(hub.Options(), stop).ok());
  CHECK(std::distance(std::filesystem::directory_iterator(hub.folder.path()), {}) == 2);
}

}  // namespace
}  // namespace waggle
