#include "learner/cut_maker.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "common/base/threads/mutex.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "tests/common/hub/ports/fake_hub_link.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::ValueOf;

// Notes the checkpoints that are asked for.
class NotingReplay : public ReplayConnection {
 public:
  absl::Status Checkpoint(const ReplayCut& cut, const StopToken&) override {
    MutexLock lock(&mutex_);
    asked_.push_back(cut);
    return status;
  }
  absl::Status CreateTable(const TableConfig&, const StopToken&) override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<ReplayWriter>> NewWriter(const ReplayWriterOptions&) override {
    return absl::UnimplementedError("not asked for");
  }
  absl::StatusOr<std::unique_ptr<ReplaySampler>> NewSampler(const ReplaySamplerOptions&) override {
    return absl::UnimplementedError("not asked for");
  }
  absl::StatusOr<std::unique_ptr<PriorityUpdater>> NewPriorityUpdater(const std::string&) override {
    return absl::UnimplementedError("not asked for");
  }
  std::vector<ReplayCut> asked() const {
    MutexLock lock(&mutex_);
    return asked_;
  }

  absl::Status status;

 private:
  mutable Mutex mutex_;
  std::vector<ReplayCut> asked_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<CheckpointContents> AtStep(int64_t step) {
  CheckpointContents contents;
  contents.step = step;
  return contents;
}

struct Fixture {
  CutMaker::Options Options() { return {&replay, &hub, folder.path()}; }
  int64_t StepOf(const std::string& cut) const {
    const auto store = ValueOf(CheckpointStore::OpenToRead(folder.File("cuts/" + cut)));
    return ValueOf(store->NewestStep()).value_or(-1);
  }

  const testing::TemporaryFolder folder;
  NotingReplay replay;
  testing::FakeHubLink hub;
};

TEST_CASE("in lock-step a cut is on the disks of learner and replay before it is reported", "[unit]") {
  Fixture fixture;
  fixture.hub.before.cuts = {3, 4};
  CutMaker cuts(fixture.Options());
  for (const int cut : {2, 3, 4, 5}) {
    REQUIRE_OK(cuts.MakeInLockStep(
        static_cast<uint64_t>(cut), [cut] { return AtStep(100 * cut); }, StopToken()));
  }
  CHECK(fixture.hub.cut.number == 5);
  CHECK(fixture.hub.cut.learner_steps == 500);
  CHECK(fixture.hub.cut.failure.empty());
  CHECK(fixture.StepOf("5") == 500);
  const ReplayCut asked = fixture.replay.asked().back();
  CHECK(asked.number == 5);
  CHECK(asked.begin_anew);
  CHECK(asked.kept == std::vector<uint64_t>{3, 4});
  // Complete cuts stay, others do not.
  CHECK(fixture.StepOf("3") == 300);
  CHECK_FALSE(std::filesystem::exists(fixture.folder.File("cuts/2")));
}

TEST_CASE("a cut that cannot be made is reported with its reason", "[unit]") {
  Fixture fixture;
  CutMaker cuts(fixture.Options());
  fixture.replay.status = absl::FailedPreconditionError("table replay: durability none");
  CHECK_FALSE(cuts.MakeInLockStep(
                      1, [] { return AtStep(1); }, StopToken())
                  .ok());
  CHECK(fixture.hub.cut.number == 1);
  CHECK(fixture.hub.cut.failure == "table replay: durability none");
}

TEST_CASE("outside of lock-step the replay servers save what they have before the learner rests", "[unit]") {
  Fixture fixture;
  {
    CutMaker cuts(fixture.Options());
    CHECK(cuts.Due() == 0);
  }
  fixture.hub.before.cut_wanted = 7;
  auto cuts = std::make_unique<CutMaker>(fixture.Options());
  const StopToken pause;
  uint64_t due = 0;
  while ((due = cuts->Due()) == 0) {
    pause.WaitFor(absl::Milliseconds(1));
  }
  REQUIRE(due == 7);
  REQUIRE(fixture.replay.asked().size() == 1);
  CHECK(fixture.replay.asked()[0].number == 0);
  cuts->Make(
      7, [] { return AtStep(70); }, StopToken());
  REQUIRE(fixture.replay.asked().size() == 2);
  CHECK(fixture.replay.asked()[1].number == 7);
  CHECK_FALSE(fixture.replay.asked()[1].begin_anew);
  cuts.reset();  // Waits for the learner's part.
  CHECK(fixture.StepOf("7") == 70);
  CHECK(fixture.hub.cut.number == 7);
  CHECK(fixture.hub.cut.learner_steps == 70);
}

}  // namespace
}  // namespace waggle
