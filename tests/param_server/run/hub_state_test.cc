#include "param_server/run/hub_state.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/base/tensor/checksum.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

HubRecord SomeRecord() {
  HubRecord record;
  record.last_epoch = 7;
  record.experiment_yaml = "experiment:\n  name: x  # \"quoted\"\n\nexperiment\n";
  record.lives = {{{Role::kActor, 0}, 3}, {{Role::kActor, 17}, 1}, {{Role::kEvaluator, 0}, 2}};
  record.progress.running = absl::Microseconds(61'000'001);
  record.progress.env_steps = 9007199254740991;
  record.progress.learner_steps = 12;
  record.progress.steps_of = {{"actor-1", 1}, {"actor-2", 0.1}};
  const Evaluation evaluation = {{3, 4}, 20, 1.0 / 3, -1e300, 500, 0.1, 2.0 / 3, uint64_t{1} << 53};
  record.last_evaluation = DatedEvaluation{evaluation, absl::FromUnixMicros(-5), "evaluator-1"};
  record.progress.result = RunResult{evaluation, true};
  record.progress.candidates = {evaluation, evaluation};
  record.totals.all = {{"actor/gradients_pushed", 1.0 / 3}, {"replay/items_inserted", 0}};
  record.totals.unseen = {{"replay/items_inserted", 7}};
  record.totals.of = {{"actor-1", {{"gradients_applied", 2}, {"gradients_pushed", 3}}},
                      {"learner-1", {{"items_sampled", 1}}}};
  record.progress.state = RunState::kFailed;
  record.progress.reason = "two\nlines, the last one is\nexperiment";
  return record;
}

TEST_CASE("A record is decoded from its text without a change", "[unit]") {
  CHECK(ValueOf(DecodeHubRecord(EncodeHubRecord(SomeRecord()))) == SomeRecord());
  CHECK(ValueOf(DecodeHubRecord(EncodeHubRecord(HubRecord()))) == HubRecord());
}

TEST_CASE("A record of an earlier version, with its start date, is read", "[unit]") {
  const std::string text = EncodeHubRecord(SomeRecord());
  const std::string body = "started_us 1700000000123456\n" + text.substr(text.find('\n') + 1);
  const std::string checksum = absl::StrCat(absl::Hex(Checksum(body.data(), body.size()), absl::kZeroPad16));
  CHECK(ValueOf(DecodeHubRecord("waggle hub 2 " + checksum + "\n" + body)) == SomeRecord());
}

TEST_CASE("Each number of an evaluation is decoded", "[unit]") {
  const Evaluation evaluation = ValueOf(DecodeHubRecord(EncodeHubRecord(SomeRecord()))).progress.candidates.at(1);
  CHECK(evaluation.version == ModelVersion{3, 4});
  CHECK(evaluation.mean_return == 1.0 / 3);
  CHECK(evaluation.standard_deviation == 0.1);
  CHECK(evaluation.mean_length == 2.0 / 3);
  CHECK(evaluation.env_steps == uint64_t{1} << 53);
}

TEST_CASE("Only actors and evaluators have lives", "[unit]") {
  HubRecord record = SomeRecord();
  record.lives = {{{Role::kLearner, 0}, 3}};
  CHECK_THAT(std::string(DecodeHubRecord(EncodeHubRecord(record)).status().message()),
             Catch::Contains("cannot read the line \"lives learner 0 3\""));
}

TEST_CASE("A text that is cut or changed anywhere is refused", "[unit]") {
  const std::string text = EncodeHubRecord(SomeRecord());
  for (size_t i = 0; i < text.size(); ++i) {
    CHECK(DecodeHubRecord(text.substr(0, i)).status().code() == absl::StatusCode::kDataLoss);
    std::string changed = text;
    changed[i] ^= 4;
    CHECK(DecodeHubRecord(changed).status().code() == absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("An update survives a restart", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("made/by/open");
  {
    const auto state = ValueOf(HubState::Open(path));
    CHECK(state->record() == HubRecord());
    REQUIRE_OK(state->Update([](HubRecord* record) { *record = SomeRecord(); }));
    CHECK(ValueOf(state->TakeEpoch()) == 8);
    CHECK(ValueOf(state->TakeEpoch()) == 9);
    CHECK(state->last_epoch() == 9);
  }
  const auto state = ValueOf(HubState::Open(path));
  HubRecord expected = SomeRecord();
  expected.last_epoch = 9;
  CHECK(state->record() == expected);
  CHECK(state->last_epoch() == 9);
  CHECK(ValueOf(state->TakeEpoch()) == 10);
}

TEST_CASE("Two hubs cannot share a folder", "[unit]") {
  const TemporaryFolder folder;
  auto first = ValueOf(HubState::Open(folder.path()));
  const absl::Status second = HubState::Open(folder.path()).status();
  CHECK(second.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(second.message()), Catch::Contains("another parameter server uses this folder"));
  first.reset();
  CHECK(HubState::Open(folder.path()).ok());
}

TEST_CASE("An error about a folder names it", "[unit]") {
  const TemporaryFolder folder;
  REQUIRE_OK(WriteFileAtomically(folder.File("file"), "x"));
  CHECK_THAT(std::string(HubState::Open(folder.File("file")).status().message()), Catch::Contains(folder.File("file")));
  std::filesystem::create_directories(folder.File("taken/hub.state"));  // A folder in place of the file.
  CHECK_FALSE(HubState::Open(folder.File("taken")).ok());
}

TEST_CASE("A damaged record is reported and not overwritten", "[unit]") {
  const TemporaryFolder folder;
  REQUIRE_OK(WriteFileAtomically(folder.File("hub.state"), "waggle hub 2 nonsense\n"));
  const absl::Status status = HubState::Open(folder.path()).status();
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK_THAT(std::string(status.message()), Catch::Contains("is damaged") && Catch::Contains("move it away"));
  CHECK(ValueOf(ReadSmallFile(folder.File("hub.state"), 100)) == "waggle hub 2 nonsense\n");
}

TEST_CASE("An update that cannot be written changes nothing", "[unit]") {
  const TemporaryFolder folder;
  const auto state = ValueOf(HubState::Open(folder.path()));
  std::filesystem::remove_all(folder.path());
  CHECK_FALSE(state->TakeEpoch().ok());
  CHECK(state->record() == HubRecord());
  CHECK(state->Update([](HubRecord*) {}) == absl::OkStatus());  // Without a change nothing is written.
}

}  // namespace
}  // namespace waggle
