#include "param_server/metrics/metrics_recorder.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/full_disk.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::FullDisk;
using testing::TemporaryFolder;
using testing::ValueOf;

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);
constexpr char kHeader[] = "step,seconds,name,value\n";

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
}

std::string Csv(const TemporaryFolder& folder) {
  return Contents(folder.File("metrics.csv"));
}

// The points of all event files.
std::string Events(const TemporaryFolder& folder) {
  std::string events;
  for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
    if (file.path().filename().string().find("tfevents") != std::string::npos) {
      events += Contents(file.path().string());
    }
  }
  return events;
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// A run with an actor.
struct Run {
  Run() {
    overview.run_state = RunState::kRunning;
    WorkerView& actor = overview.workers.emplace_back();
    actor.introduction.role = Role::kActor;
    actor.alive = actor.current = true;
    actor.figures.Change()->counters["episodes"] = 3;
  }
  void AddEvaluation(double mean_return, double finished_seconds) {
    DatedEvaluation dated;
    dated.evaluation.episodes = 20;
    dated.evaluation.mean_return = mean_return;
    dated.finished = kStart + absl::Seconds(finished_seconds);
    overview.evaluations.push_back(dated);
    ++overview.evaluation_count;
  }
  absl::Status Record(MetricsRecorder* recorder, uint64_t env_steps, double seconds) {
    overview.env_steps = env_steps;
    overview.running = absl::Seconds(seconds);
    overview.workers[0].figures.Change()->taken_at += absl::Seconds(1);  // It has sent a heartbeat.
    return recorder->Record(overview, kStart + absl::Seconds(seconds), {});
  }

  HubOverview overview;
};

std::unique_ptr<MetricsRecorder> NewRecorder(const TemporaryFolder& folder, const HubOverview& known = {}) {
  return ValueOf(MetricsRecorder::Create(folder.path(), known));
}

TEST_CASE("Figures go to both files under the same names", "[unit]") {
  const TemporaryFolder folder;
  Run run;
  const auto recorder = NewRecorder(folder);
  REQUIRE_OK(run.Record(recorder.get(), 10, 1));
  REQUIRE_OK(run.Record(recorder.get(), 20, 2.5));
  CHECK(Csv(folder) == std::string(kHeader) +
                           "10,1.000,actor/env_steps,10\n10,1.000,actor/episodes,3\n"
                           "20,2.500,actor/env_steps,20\n20,2.500,actor/episodes,3\n");
  CHECK(Count(Events(folder), "actor/episodes") == 2);
}

TEST_CASE("A role without a new heartbeat has no row", "[unit]") {
  const TemporaryFolder folder;
  Run run;
  WorkerView& learner = run.overview.workers.emplace_back();
  learner.introduction.role = Role::kLearner;
  learner.alive = learner.current = true;
  learner.figures.Change()->counters["learner_steps"] = 100;
  learner.figures.Change()->gauges["algorithm/loss"] = 0.5;
  const auto recorder = NewRecorder(folder);
  REQUIRE_OK(run.Record(recorder.get(), 10, 1));
  REQUIRE_OK(run.Record(recorder.get(), 20, 2));  // Only the actor has sent a heartbeat.
  CHECK(Count(Csv(folder), "actor/env_steps") == 2);
  CHECK(Count(Csv(folder), "algorithm/loss") == 1);
  CHECK(Count(Csv(folder), "learner/steps") == 1);
  run.overview.workers[1].figures.Change()->taken_at += absl::Seconds(1);
  REQUIRE_OK(run.Record(recorder.get(), 30, 3));
  CHECK(Count(Csv(folder), "algorithm/loss") == 2);  // A new heartbeat with the same value.
}

TEST_CASE("Evaluations are written once, at their time and the steps of their weights", "[unit]") {
  const TemporaryFolder folder;
  Run run;
  const auto recorder = NewRecorder(folder);
  run.AddEvaluation(412.5, 8);
  run.AddEvaluation(480.5, 9.5);
  run.overview.evaluations.back().evaluation.env_steps = 7;
  REQUIRE_OK(run.Record(recorder.get(), 100, 10));
  REQUIRE_OK(run.Record(recorder.get(), 110, 11));
  CHECK(Count(Csv(folder), "evaluation/mean_return") == 2);
  CHECK(Count(Csv(folder), "0,8.000,evaluation/mean_return,412.5\n") == 1);
  CHECK(Count(Csv(folder), "7,9.500,evaluation/mean_return,480.5\n") == 1);
  CHECK(Count(Events(folder), "evaluation/mean_return") == 2);
  // Two evaluators' clocks may differ.
  run.AddEvaluation(490, 7);
  run.overview.evaluations.erase(run.overview.evaluations.begin());  // The hub keeps the newest.
  REQUIRE_OK(run.Record(recorder.get(), 120, 12));
  CHECK(Count(Csv(folder), "0,9.500,evaluation/mean_return,490\n") == 1);
  CHECK(Count(Csv(folder), "evaluation/mean_return") == 3);
}

TEST_CASE("Seconds are the time of the run, not of the clock", "[unit]") {
  const TemporaryFolder folder;
  Run run;
  const auto recorder = NewRecorder(folder);
  run.overview.running = absl::Seconds(30);
  run.AddEvaluation(5, 55);
  REQUIRE_OK(recorder->Record(run.overview, kStart + absl::Seconds(56), {}));
  CHECK(Count(Csv(folder), "0,30.000,actor/episodes,3\n") == 1);
  CHECK(Count(Csv(folder), "0,29.000,evaluation/mean_return,5\n") == 1);
}

TEST_CASE("Files that are removed begin again", "[unit]") {
  const TemporaryFolder folder;
  Run run;
  const std::string inner = folder.File("run");
  const auto recorder = ValueOf(MetricsRecorder::Create(inner, run.overview));
  REQUIRE_OK(run.Record(recorder.get(), 0, 1));
  std::filesystem::remove_all(inner);
  REQUIRE_OK(run.Record(recorder.get(), 0, 2));
  const std::string csv = Contents(inner + "/metrics.csv");
  CHECK(Count(csv, kHeader) == 1);
  CHECK(Count(csv, "actor/episodes,3") == 1);
}

TEST_CASE("A disk that is full for a while loses no rows", "[unit]") {
  const TemporaryFolder folder;
  Run run;
  const auto recorder = NewRecorder(folder);
  REQUIRE_OK(run.Record(recorder.get(), 10, 1));
  const std::string before = Csv(folder);
  const size_t events_before = Events(folder).size();
  {
    const FullDisk full(before.size() + 5);
    run.AddEvaluation(412.5, 1.5);
    CHECK_FALSE(run.Record(recorder.get(), 20, 2).ok());
    CHECK_FALSE(run.Record(recorder.get(), 30, 3).ok());
    CHECK(Csv(folder) == before);
    CHECK(Events(folder).size() == events_before);
  }
  REQUIRE_OK(run.Record(recorder.get(), 40, 4));
  const std::string csv = Csv(folder);
  CHECK(csv.compare(0, before.size(), before) == 0);
  CHECK(Count(csv, "actor/episodes") == 4);
  CHECK(Count(csv, "evaluation/mean_return") == 1);
  CHECK(Count(csv, kHeader) == 1);
  CHECK(csv.back() == '\n');
  CHECK(Count(Events(folder), "actor/episodes") == 4);
}

TEST_CASE("Figures beyond 16 MiB of unwritten ones are dropped, and evaluations are written later", "[unit]") {
  const TemporaryFolder folder;
  Run run;
  for (int i = 0; i < 5'000; ++i) {
    run.overview.workers[0].figures.Change()->counters[std::string(200, 'x') + std::to_string(i)] = 1;
  }
  const auto recorder = NewRecorder(folder);
  {
    const FullDisk full(0);
    std::string message;
    for (int second = 1; message.find("16 MiB are kept") == std::string::npos; ++second) {
      REQUIRE(second < 100);
      message = std::string(run.Record(recorder.get(), 10, second).message());
    }
    CHECK_THAT(message, Catch::Contains(folder.path()) && Catch::Contains("cannot write"));
    run.AddEvaluation(412.5, 150);
    CHECK_FALSE(run.Record(recorder.get(), 20, 151).ok());
    run.AddEvaluation(413.5, 250);
    CHECK_FALSE(run.Record(recorder.get(), 30, 251).ok());
  }
  run.AddEvaluation(414.5, 350);
  REQUIRE_OK(run.Record(recorder.get(), 40, 351));
  REQUIRE_OK(run.Record(recorder.get(), 50, 352));
  const std::string csv = Csv(folder);
  CHECK(Count(csv, "evaluation/mean_return") == 3);
  CHECK(Count(csv, "0,150.000,evaluation/mean_return,412.5\n") == 1);
  CHECK(Count(csv, "0,250.000,evaluation/mean_return,413.5\n") == 1);
  CHECK(Count(csv, "0,350.000,evaluation/mean_return,414.5\n") == 1);
  const std::string events = Events(folder);
  CHECK(Count(events, "evaluation/mean_return") == 3);
  CHECK(Count(events, "actor/episodes") == Count(csv, "actor/episodes"));
}

TEST_CASE("Points wait for an event file that cannot be created yet", "[unit]") {
  const TemporaryFolder folder;
  Run run;
  run.AddEvaluation(412.5, 0.5);
  const auto recorder = NewRecorder(folder);
  const std::string elsewhere = folder.path() + ".moved";  // The open file moves too.
  std::filesystem::rename(folder.path(), elsewhere);
  CHECK_FALSE(run.Record(recorder.get(), 10, 1).ok());
  CHECK_FALSE(run.Record(recorder.get(), 20, 2).ok());
  std::filesystem::rename(elsewhere, folder.path());
  REQUIRE_OK(run.Record(recorder.get(), 30, 3));
  CHECK(Count(Events(folder), "evaluation/mean_return") == 1);
  CHECK(Count(Events(folder), "actor/episodes") == 3);
}

TEST_CASE("Rows that are unwritten at the end of a run are tried again", "[unit]") {
  const TemporaryFolder folder;
  Run run;
  run.overview.run_state = RunState::kSolved;
  run.overview.workers[0].alive = false;
  const auto recorder = NewRecorder(folder);
  {
    const FullDisk full(0);
    CHECK_FALSE(run.Record(recorder.get(), 10, 1).ok());
    CHECK_FALSE(run.Record(recorder.get(), 10, 2).ok());
  }
  REQUIRE_OK(run.Record(recorder.get(), 10, 3));
  CHECK(Count(Csv(folder), "10,1.000,actor/episodes,3\n") == 1);
}

TEST_CASE("A restarted hub turns back neither steps nor time in its file", "[unit]") {
  const TemporaryFolder folder;
  Run run;
  run.AddEvaluation(400, 4);
  REQUIRE_OK(run.Record(NewRecorder(folder).get(), 1'000, 5));
  // The hub was killed before it saved the last rows' progress.
  const auto next = NewRecorder(folder, run.overview);
  REQUIRE_OK(run.Record(next.get(), 900, 4.5));
  REQUIRE_OK(run.Record(next.get(), 1'100, 20));
  const std::string csv = Csv(folder);
  CHECK(Count(csv, kHeader) == 1);
  CHECK(Count(csv, "1000,5.000,actor/episodes,3\n") == 2);
  CHECK(Count(csv, "1100,20.000,actor/episodes,3\n") == 1);
  CHECK(Count(csv, "evaluation/mean_return") == 1);
  CHECK(Count(Events(folder), "brain.Event:2") == 2);
}

TEST_CASE("Nothing is recorded without an experiment, or after the last worker of one that is over", "[unit]") {
  const TemporaryFolder folder;
  const auto recorder = NewRecorder(folder);
  Run run;
  run.overview.run_state = RunState::kNoExperiment;
  REQUIRE_OK(run.Record(recorder.get(), 0, 1));
  CHECK(Csv(folder) == kHeader);
  CHECK(Events(folder).empty());
  run.overview.run_state = RunState::kSolved;
  REQUIRE_OK(run.Record(recorder.get(), 10, 2));
  REQUIRE_OK(run.Record(recorder.get(), 10, 3));
  const auto rows = [&folder] { return Count(Csv(folder), "\n"); };
  const size_t with_actor = rows();
  run.overview.workers[0].alive = run.overview.workers[0].current = false;
  run.overview.model_version = ModelVersion{1, 7};
  REQUIRE_OK(run.Record(recorder.get(), 12, 4));
  const size_t in_the_end = rows();
  CHECK(in_the_end > with_actor);
  REQUIRE_OK(run.Record(recorder.get(), 12, 5));
  CHECK(rows() == in_the_end);
  run.AddEvaluation(500, 4.5);
  REQUIRE_OK(run.Record(recorder.get(), 12, 6));
  CHECK(Count(Csv(folder), "evaluation/mean_return") == 1);
}

TEST_CASE("The folder is made, and an error names it", "[unit]") {
  const TemporaryFolder folder;
  REQUIRE_OK(MetricsRecorder::Create(folder.File("a/b"), {}));
  CHECK(std::filesystem::exists(folder.File("a/b/metrics.csv")));
  std::ofstream(folder.File("file")) << "x";
  const absl::Status status = MetricsRecorder::Create(folder.File("file/b"), {}).status();
  REQUIRE_FALSE(status.ok());
  CHECK_THAT(std::string(status.message()), Catch::Contains(folder.File("file")));
}

}  // namespace
}  // namespace waggle
