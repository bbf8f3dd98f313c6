#include <algorithm>
#include <filesystem>
#include <string>

#include "common/base/file.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "param_server/run/cut_folder.h"
#include "tests/param_server/experiments/host_fixture.h"

namespace waggle::testing {
namespace {

class CutsFixture : public HostFixture {
 public:
  // An experiment that its workers work on, and its cut 1, of learner step 100.
  std::string BeginWithCut(const std::string& more = "") {
    Start();
    WholeCrew();
    const std::string yaml = absl::StrCat(
        "experiment: {name: x", more,
        "}\nenvironment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\nreplay: {durability: checkpoint}\n",
        "stop: {max_env_steps: 1000}\n");
    const std::string id = ValueOf(host->Submit({yaml, yaml, 0, ""})).front();
    RoundsUntil("orders", [&] { return Find(id) != nullptr && workers.at("learner").held_size() == 1; });
    output = Output(id);
    CheckpointContents contents;
    contents.step = 100;
    contents.texts[kCheckpointRun] = "run";
    REQUIRE_OK(ValueOf(CheckpointStore::Open(output + "cuts/1", /*keep=*/1))->Save(contents));
    REQUIRE_OK(CutFolder({HubFolder(id), output, /*keep=*/2}).Save({1, 100, 1'000, absl::Now()}, std::nullopt));
    return id;
  }
  void Restart() {
    host.reset();
    Start();
  }
  bool AnyHeld() const {
    return std::any_of(workers.begin(), workers.end(), [](const auto& one) { return one.second.held_size() > 0; });
  }
  uint64_t LearnerOrder() const { return workers.at("learner").held(0).order().number(); }

  std::string output;
};

TEST_CASE_METHOD(CutsFixture, "a hub that goes back to cuts takes all orders back, then begins from the cut",
                 "[unit]") {
  const std::string id = BeginWithCut();
  const uint64_t before = LearnerOrder();
  host.reset();
  REQUIRE_OK(WriteFileAtomically(folder.File("hub/return_to_cuts"), ""));
  // The learner of before still writes checkpoints.
  auto learner = ValueOf(CheckpointStore::Open(output + "checkpoints", /*keep=*/1));
  Start();
  RoundsUntil("all orders are taken back", [&] { return !AnyHeld(); });
  CHECK(Find(id) == nullptr);
  learner.reset();
  RoundsUntil("the run goes on", [&] { return Find(id) != nullptr && workers.at("learner").held_size() == 1; });
  CHECK(LearnerOrder() != before);
  CHECK(ValueOf(ValueOf(CheckpointStore::OpenToRead(output + "checkpoints"))->NewestStep()) == 100);
  CHECK_FALSE(std::filesystem::exists(folder.File("hub/return_to_cuts")));
  CHECK_THAT(Log(id), Catch::Contains("goes on from a cut"));
  // The next hub does not go back.
  const uint64_t after = LearnerOrder();
  Restart();
  RoundsUntil("the run goes on again", [&] { return Find(id) != nullptr; });
  Round();
  CHECK(LearnerOrder() == after);
}

TEST_CASE_METHOD(CutsFixture, "workers of a run that goes back to a cut have no part in it, also if they come late",
                 "[unit]") {
  const std::string id = BeginWithCut();
  host.reset();
  REQUIRE_OK(WriteFileAtomically(folder.File("hub/return_to_cuts"), ""));
  const v1::AttendRequest late = workers.at("learner");
  workers.erase("learner");
  Start();
  RoundsUntil("the run goes on", [&] { return Find(id) != nullptr; });
  workers["learner"] = late;
  const uint64_t before = LearnerOrder();
  RoundsUntil("it has another order",
              [&] { return workers.at("learner").held_size() == 1 && LearnerOrder() != before; });
}

TEST_CASE_METHOD(CutsFixture, "a run that is resumed without a cut does not go back to one that was asked for before",
                 "[unit]") {
  const std::string id = BeginWithCut();
  REQUIRE_OK(host->Stop(id));
  EndAll();
  RoundsUntil("the run is closed", [&] { return Find(id) == nullptr && IsClosed(id); });
  workers.erase("learner");  // So that it stays in the queue.
  CHECK(absl::IsNotFound(host->Resume(id, {}, /*cut=*/7)));
  REQUIRE_OK(host->Resume(id, {}, /*cut=*/1));
  REQUIRE_OK(host->Stop(id));
  REQUIRE_OK(host->Resume(id));
  WholeCrew();
  RoundsUntil("the run goes on", [&] { return Find(id) != nullptr; });
  CHECK_THAT(Log(id), !Catch::Contains("goes on from a cut"));
}

TEST_CASE_METHOD(CutsFixture, "a deterministic run goes back to its cut with each hub, another one only if it is asked",
                 "[unit]") {
  const bool deterministic = GENERATE(false, true);
  CAPTURE(deterministic);
  const std::string id = BeginWithCut(deterministic ? ", deterministic: true" : "");
  const uint64_t before = LearnerOrder();
  Restart();
  RoundsUntil("the run goes on", [&] { return Find(id) != nullptr && workers.at("learner").held_size() == 1; });
  CHECK((LearnerOrder() != before) == deterministic);
}

}  // namespace
}  // namespace waggle::testing
