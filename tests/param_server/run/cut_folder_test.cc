#include "param_server/run/cut_folder.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/rl/checkpoint/checkpoint_store.h"
#include "common/rl/checkpoint/saved_model.h"
#include "param_server/run/hub_state.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::ValueOf;

// The folders of a run, with the parts of its learner.
struct Run {
  CutFolder cuts() const { return CutFolder({folder.File("hub"), folder.File("output"), /*keep=*/2}); }

  // A checkpoint of the learner at this step, in a folder of the output.
  void SaveLearner(const std::string& name, int64_t step, uint64_t epoch = 1) const {
    REQUIRE_OK(CreateFolders(folder.File("output")));
    const auto store = ValueOf(CheckpointStore::Open(folder.File("output/" + name), /*keep=*/10));
    CheckpointContents contents;
    contents.step = step;
    contents.texts[kCheckpointRun] = "run";
    contents.texts[kCheckpointEpoch] = std::to_string(epoch);
    REQUIRE_OK(store->Save(contents));
  }
  std::optional<int64_t> NewestStep() const {
    const auto store = ValueOf(CheckpointStore::OpenToRead(folder.File("output/checkpoints")));
    return ValueOf(store->NewestStep());
  }
  // Makes a cut of an ordinary run.
  void Cut(uint64_t number, int64_t step) const {
    SaveLearner(absl::StrCat("cuts/", number), step);
    REQUIRE_OK(cuts().Save({number, step, 10 * step, absl::UnixEpoch()}, std::nullopt));
  }
  std::vector<uint64_t> Numbers() const {
    std::vector<uint64_t> numbers;
    for (const CutFacts& cut : ValueOf(cuts().List())) {
      numbers.push_back(cut.number);
    }
    return numbers;
  }
  void Write(const std::string& name, const std::string& text) const {
    REQUIRE_OK(CreateFolders(std::filesystem::path(folder.File(name)).parent_path().string()));
    REQUIRE_OK(WriteFileAtomically(folder.File(name), text));
  }
  std::string Read(const std::string& name) const { return ValueOf(ReadSmallFile(folder.File(name), 1 << 20)); }

  const testing::TemporaryFolder folder;
};

TEST_CASE("the newest cuts stay, with their facts", "[unit]") {
  const Run run;
  CHECK(run.Numbers().empty());
  for (const uint64_t number : {1, 2, 3}) {
    run.Cut(number, static_cast<int64_t>(100 * number));
  }
  CHECK(run.Numbers() == std::vector<uint64_t>{2, 3});
  for (const char* const leftover : {"hub/cuts/coming-9/cut", "hub/cuts/removed-1/cut"}) {
    run.Write(leftover, "of a crash");
  }
  run.Cut(4, 400);
  CHECK(run.Numbers() == std::vector<uint64_t>{3, 4});
  CHECK_FALSE(std::filesystem::exists(run.folder.File("hub/cuts/coming-9")));
  CHECK_FALSE(std::filesystem::exists(run.folder.File("hub/cuts/removed-1")));
  const CutFacts newest = ValueOf(run.cuts().List()).back();
  CHECK(newest.learner_steps == 400);
  CHECK(newest.env_steps == 4'000);
  CHECK_FALSE(ValueOf(run.cuts().Turns(4)).has_value());
}

TEST_CASE("a run that goes back to a cut has its checkpoint, and neither later ones nor later cuts", "[unit]") {
  const Run run;
  run.Cut(1, 100);
  run.Cut(2, 200);
  run.SaveLearner("checkpoints", 250);
  CHECK(absl::IsNotFound(run.cuts().RequestReturn(7)));
  CHECK_FALSE(ValueOf(run.cuts().ReturnIfRequested()));
  CHECK(run.NewestStep() == 250);
  REQUIRE_OK(run.cuts().RequestReturn(1));
  CHECK(run.cuts().IsReturnRequested());
  CHECK(ValueOf(run.cuts().ReturnIfRequested()));
  CHECK(ValueOf(run.cuts().ReturnIfRequested()));  // The hub died before the run had begun.
  REQUIRE_OK(run.cuts().EndReturn());
  CHECK_FALSE(run.cuts().IsReturnRequested());
  CHECK(run.NewestStep() == 100);
  CHECK(run.Numbers() == std::vector<uint64_t>{1});
  const auto first = ValueOf(run.cuts().restoration());
  REQUIRE(first.has_value());
  CHECK(first->cut == 1);
  CHECK_FALSE(ValueOf(run.cuts().ReturnIfRequested()));
  REQUIRE_OK(run.cuts().RequestReturn(1));
  CHECK(ValueOf(run.cuts().ReturnIfRequested()));
  CHECK(ValueOf(run.cuts().restoration())->token != first->token);
}

TEST_CASE("a run that goes back to a cut has no checkpoint of a later learner at an earlier step", "[unit]") {
  const Run run;
  run.Cut(1, 1'200);
  run.SaveLearner("checkpoints", 1'150, /*epoch=*/2);  // A later learner went on from before the cut.
  REQUIRE_OK(run.cuts().RequestReturn(1));
  CHECK(ValueOf(run.cuts().ReturnIfRequested()));
  CHECK(run.NewestStep() == 1'200);
}

TEST_CASE("damaged and missing parts of a cut are named", "[unit]") {
  const Run run;
  run.Cut(1, 100);
  run.Cut(2, 200);
  run.Write("hub/cuts/2/cut", run.Read("hub/cuts/2/cut") + " ");
  CHECK(run.Numbers() == std::vector<uint64_t>{1});
  CHECK(absl::IsNotFound(run.cuts().RequestReturn(2)));
  REQUIRE_OK(run.cuts().RequestReturn(1));
  REQUIRE_OK(RemoveAll(run.folder.File("output/cuts/1")));
  const absl::Status status = run.cuts().ReturnIfRequested().status();
  CHECK(absl::IsNotFound(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("output/cuts/1"));
}

TEST_CASE("a run in lock-step goes back to its record, its best weights, its figures and its turns", "[unit]") {
  const Run run;
  HubRecord record;
  record.last_epoch = 3;
  record.lives[{Role::kActor, 0}] = 2;
  record.experiment_yaml = "the experiment";
  record.progress.env_steps = 500;
  TurnState turns;
  turns.turn.number = 17;
  turns.turn.items = 400;
  turns.turn.since_cut = 1;
  turns.cut_at = 100;
  const std::string best = absl::StrCat("hub/", kBestModelFolder, "/step-000000000090/checkpoint.safetensors");
  run.Write(best, "the best");
  run.Write(absl::StrCat("hub/", kNewestModelFolder, "/step-000000000100/x"), "the newest");
  run.Write("output/metrics.csv", "a\nb\n");
  run.SaveLearner("cuts/1", 100);
  REQUIRE_OK(run.cuts().Save({1, 100, 500, absl::Now()},
                             CutFolder::LockStep{turns, EncodeHubRecord(record), {{Role::kActor, {{"episodes", 7}}}}}));

  run.Write("output/metrics.csv", "a\nb\nc\n");
  REQUIRE_OK(RemoveAll(run.folder.File(absl::StrCat("hub/", kBestModelFolder))));
  run.Write(absl::StrCat("hub/", kBestModelFolder, "/step-000000000150/checkpoint.safetensors"), "a later one");
  REQUIRE_OK(run.cuts().RequestReturn(1));
  REQUIRE(ValueOf(run.cuts().ReturnIfRequested()));
  CHECK(run.Read("output/metrics.csv") == "a\nb\n");
  CHECK(run.Read(best) == "the best");
  CHECK_FALSE(std::filesystem::exists(run.folder.File(absl::StrCat("hub/", kBestModelFolder, "/step-000000000150"))));
  CHECK_FALSE(std::filesystem::exists(run.folder.File(absl::StrCat("hub/", kNewestModelFolder))));
  const HubRecord back = ValueOf(HubState::Open(run.folder.File("hub")))->record();
  CHECK(back.progress.env_steps == 500);
  // The next workers get the numbers of those at the cut.
  CHECK(back.last_epoch == 2);
  CHECK(back.lives.at({Role::kActor, 0}) == 1);
  CHECK(ValueOf(run.cuts().Counters(1)).at(Role::kActor).at("episodes") == 7);
  const TurnState saved = *ValueOf(run.cuts().Turns(1));
  CHECK(saved.turn.number == 17);
  CHECK(saved.turn.items == 400);
  CHECK(saved.turn.role == Role::kLearner);
  CHECK(saved.turn.since_cut == 1);
  CHECK(saved.cut_at == 100);
}

}  // namespace
}  // namespace waggle
