#include <memory>
#include <string>
#include <vector>

#include "common/base/file.h"
#include "param_server/run/cut_folder.h"
#include "param_server/run/hub.h"
#include "tests/param_server/run/hub_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace waggle {
namespace {

using testing::Eventually;
using testing::ValueOf;

// A hub with a folder for cuts, and a learner.
struct Fixture : testing::HubFixture {
  Fixture() {
    cut_folder = std::make_unique<CutFolder>(CutFolder::Options{folder.File("hub"), folder.File("output"), /*keep=*/2});
    REQUIRE_OK(CreateFolders(folder.File("hub")));
    Restart();
    Join("learner", Role::kLearner);
  }
  Assignment Learn(double steps, const CutReport& cut = {}) {
    WorkerReport report = Report("learner");
    report.figures.counters["learner_steps"] = steps;
    if (cut.number != 0) {
      report.cut = cut;
    }
    return ValueOf(hub->Heartbeat(report));
  }
  std::vector<uint64_t> Complete() const {
    std::vector<uint64_t> numbers;
    for (const CutFacts& cut : ValueOf(cut_folder->List())) {
      numbers.push_back(cut.number);
    }
    return numbers;
  }
};

TEST_CASE("a cut begins once a learner has reported, and is complete once the hub has saved its part", "[unit]") {
  Fixture fixture;
  CHECK(absl::IsUnavailable(fixture.hub->BeginCut().status()));
  fixture.Learn(10);
  CHECK(ValueOf(fixture.hub->BeginCut()) == 1);
  CHECK(absl::IsUnavailable(fixture.hub->BeginCut().status()));
  CHECK(fixture.Learn(20).cut_wanted == 1);
  fixture.Learn(20, {1, 20, ""});
  Eventually("it is complete", [&] { return fixture.hub->cut_standing().in_progress == 0; });
  CHECK(fixture.hub->cut_standing().failed == 0);
  CHECK(fixture.Complete() == std::vector<uint64_t>{1});
  CHECK(fixture.Learn(30).cuts == std::vector<uint64_t>{1});
}

TEST_CASE("the counts of a hub that is killed after a cut are not behind it", "[unit]") {
  Fixture fixture;
  fixture.Learn(10);
  REQUIRE_OK(fixture.hub->BeginCut().status());
  fixture.Learn(15, {1, 20, ""});  // Figures of before the cut.
  Eventually("it is complete", [&] { return fixture.hub->cut_standing().in_progress == 0; });
  CHECK(ValueOf(fixture.cut_folder->List()).back().learner_steps == 20);
  CHECK(fixture.state->record().progress.learner_steps >= 20);
}

TEST_CASE("a cut whose part the learner has not made fails, and harms no earlier one", "[unit]") {
  Fixture fixture;
  fixture.Learn(10);
  REQUIRE_OK(fixture.hub->BeginCut().status());
  fixture.Learn(20, {1, 20, ""});
  Eventually("the first is complete", [&] { return fixture.hub->cut_standing().in_progress == 0; });
  const std::string before = ValueOf(ReadSmallFile(fixture.folder.File("hub/cuts/1/cut"), 1 << 20));
  CHECK(ValueOf(fixture.hub->BeginCut()) == 2);
  fixture.hub->SaveCut(2, absl::OkStatus());
  CHECK(fixture.hub->cut_standing().in_progress == 0);
  CHECK(fixture.hub->cut_standing().failed == 2);
  CHECK(fixture.Complete() == std::vector<uint64_t>{1});
  CHECK(ValueOf(ReadSmallFile(fixture.folder.File("hub/cuts/1/cut"), 1 << 20)) == before);
  CHECK(ValueOf(fixture.hub->BeginCut()) == 3);
}

TEST_CASE("a cut fails if its figures are not on the disk", "[unit]") {
  Fixture fixture;
  fixture.Learn(10);
  CHECK(ValueOf(fixture.hub->BeginCut()) == 1);
  fixture.hub->SaveCut(1, absl::ResourceExhaustedError("the disk is full"));
  CHECK(fixture.hub->cut_standing().failed == 1);
  CHECK(fixture.hub->cut_standing().failure == "the disk is full");
  CHECK(fixture.Complete().empty());
}

TEST_CASE("a return to a cut is over once all replay servers have joined, also for the next hub", "[unit]") {
  Fixture fixture;
  REQUIRE_OK(fixture.cut_folder->Save({4, 100, 1'000, absl::UnixEpoch()}, std::nullopt));
  REQUIRE_OK(WriteFileAtomically(fixture.folder.File("hub/cuts/restored"), "4 token\n"));
  fixture.restoration = ValueOf(fixture.cut_folder->restoration());
  REQUIRE(fixture.restoration.has_value());
  fixture.Restart();
  CHECK(fixture.Join("replay", Role::kReplayServer).assignment.restoration.has_value());
  CHECK(ValueOf(fixture.cut_folder->restoration()).has_value());
  fixture.Join("replay", Role::kReplayServer, "host:1");
  Eventually("the return is over", [&] { return !ValueOf(fixture.cut_folder->restoration()).has_value(); });
}

}  // namespace
}  // namespace waggle
