#include "cli/experiments/experiment_verbs.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/match.h"
#include "cli/experiments/change.h"
#include "tests/cli/fake_services.h"
#include "tests/cli/sample_snapshot.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using Json = nlohmann::json;
using ::waggle::testing::FakeServices;
using ::waggle::testing::ValueOf;

SubmitFlags FlagsFor(const FakeServices& services, const testing::TemporaryFolder& folder, const std::string& yaml) {
  SubmitFlags flags;
  flags.param_server = services.address();
  flags.file = folder.File("x.yaml");
  std::ofstream(flags.file) << yaml;
  return flags;
}

void AddEvents(uint64_t count, FakeServices* services) {
  for (uint64_t number = 1; number <= count; ++number) {
    v1::ExperimentEvent event;
    event.set_number(number);
    event.set_text("event " + std::to_string(number));
    services->experiments.events.push_back(event);
  }
}

TEST_CASE("A submission has the user's text and the text with all values", "[grpc]") {
  FakeServices services;
  const testing::TemporaryFolder folder;
  const std::string yaml = "# mine\nalgorithm: {name: apex_dqn}\nstop: {max_seconds: 60}\n";
  SubmitFlags flags = FlagsFor(services, folder, yaml);
  flags.overrides = {{"learner.batch_size", "77"}};
  flags.priority = -3;
  CHECK(ValueOf(Submit(flags, StopToken())).text == "pole-99abc\n");
  flags.json = true;
  CHECK(Json::parse(ValueOf(Submit(flags, StopToken())).text) == Json{{"id", "pole-99abc"}});
  const auto& submitted = services.experiments.submitted;
  REQUIRE(submitted.size() == 2);
  CHECK(submitted[0].submitted_yaml() == yaml);
  CHECK(absl::StrContains(submitted[0].effective_yaml(), "batch_size: 77"));
  CHECK(submitted[0].priority() == -3);
  CHECK(submitted[0].request_id() != submitted[1].request_id());
}

TEST_CASE("A wrong experiment is not submitted", "[grpc]") {
  FakeServices services;
  const testing::TemporaryFolder folder;
  const SubmitFlags flags = FlagsFor(services, folder, "algorithm: {name: apex_dqm}\n");
  const absl::Status wrong = Submit(flags, StopToken()).status();
  CHECK(ExperimentExitStatus(wrong) == 2);
  SubmitFlags none = flags;
  none.file = folder.File("none.yaml");
  CHECK(ExperimentExitStatus(Submit(none, StopToken()).status()) == 2);
  CHECK(services.experiments.submitted.empty());
}

TEST_CASE("The id of a population's group is printed, and a population is not watched", "[grpc]") {
  FakeServices services;
  services.experiments.members = {"pole-99abc-0", "pole-99abc-1"};
  const testing::TemporaryFolder folder;
  SubmitFlags flags =
      FlagsFor(services, folder,
               "experiment: {population: {size: 2, every: 9, mutate: {algorithm.optimizer.learning_rate: {}}}}\n"
               "algorithm: {name: apex_dqn}\nstop: {max_env_steps: 10}\n");
  CHECK(ValueOf(Submit(flags, StopToken())).text == "pole-99abc\n");
  flags.json = true;
  const Submitted submitted = ValueOf(Submit(flags, StopToken()));
  CHECK(submitted.id == "pole-99abc-0");
  CHECK(Json::parse(submitted.text) ==
        Json{{"id", "pole-99abc-0"}, {"group", "pole-99abc"}, {"members", {"pole-99abc-0", "pole-99abc-1"}}});
  flags.watch = true;
  CHECK(ExperimentExitStatus(Submit(flags, StopToken()).status()) == 2);
  flags.watch = false;
  flags.sweeps = {{"experiment.seed", {"1", "2"}}};
  CHECK(ExperimentExitStatus(Submit(flags, StopToken()).status()) == 2);
  CHECK(services.experiments.submitted.size() == 2);
}

TEST_CASE("A sweep is submitted as one group, whose members are all checked first", "[grpc]") {
  FakeServices services;
  services.experiments.members = {"pole-99abc-0", "pole-99abc-1"};
  services.experiments.warnings = {"learner.processes: needs 4 learners, and the pool has 2"};
  const testing::TemporaryFolder folder;
  SubmitFlags flags = FlagsFor(services, folder, "algorithm: {name: apex_dqn}\nstop: {max_env_steps: 10}\n");
  flags.overrides = {{"actor.lanes", "3"}};
  flags.sweeps = {{"algorithm.optimizer.learning_rate", {"0.001", "0.01"}}, {"experiment.seed", {"1", "2"}}};
  flags.tags = {"paper"};
  flags.owner = "ada";
  const Submitted submitted = ValueOf(Submit(flags, StopToken()));
  CHECK(submitted.text == "pole-99abc\n");
  CHECK(absl::StrContains(submitted.standing, "the pool has 2"));
  const v1::SubmitRequest& request = services.experiments.submitted.at(0);
  REQUIRE(request.members_size() == 4);
  CHECK(request.effective_yaml().empty());
  CHECK(absl::StrContains(request.members(1).effective_yaml(), "learning_rate: 0.001"));
  CHECK(absl::StrContains(request.members(1).effective_yaml(), "seed: 2"));
  CHECK(absl::StrContains(request.members(3).effective_yaml(), "lanes: 3"));
  CHECK(request.members(2).settings(0) == "algorithm.optimizer.learning_rate=0.01");
  CHECK(request.members(2).settings(1) == "experiment.seed=1");
  CHECK(request.tags(0) == "paper");
  CHECK(request.owner() == "ada");
  flags.json = true;
  CHECK(Json::parse(ValueOf(Submit(flags, StopToken())).text)["warnings"].size() == 1);
  flags.sweeps[1].values = {"1", "minus one"};
  CHECK(ExperimentExitStatus(Submit(flags, StopToken()).status()) == 2);
  flags.sweeps[1] = {"actor.lanes", {"1", "2"}};  // Given by --set too.
  CHECK(ExperimentExitStatus(Submit(flags, StopToken()).status()) == 2);
  CHECK(services.experiments.submitted.size() == 2);
  flags.sweeps.clear();
  flags.owner.clear();
  REQUIRE_OK(Submit(flags, StopToken()).status());
  CHECK_FALSE(services.experiments.submitted.at(2).owner().empty());  // The user's name.
}

TEST_CASE("A list folds groups, and passes its filters on", "[grpc]") {
  FakeServices services;
  services.experiments.experiments[0].set_group("pole");
  v1::ExperimentGroup group;
  group.set_id("pole");
  group.set_members(3);
  services.experiments.groups = {group};
  ListFlags flags;
  flags.param_server = services.address();
  flags.json = true;
  flags.owner = "ada";
  flags.name = "pole";
  flags.tags = {"a", "b"};
  CHECK(Json::parse(ValueOf(AskList(flags)))["groups"][0]["members"] == 3);
  flags.flat = true;
  CHECK_FALSE(Json::parse(ValueOf(AskList(flags))).contains("groups"));
  flags.flat = false;
  flags.group = "pole";
  REQUIRE_OK(AskList(flags).status());
  const std::vector<v1::ListExperimentsRequest>& asked = services.experiments.lists;
  REQUIRE(asked.size() == 3);
  CHECK(asked[0].fold_groups());
  CHECK(asked[0].owner() == "ada");
  CHECK(asked[0].name() == "pole");
  CHECK(asked[0].tags_size() == 2);
  CHECK_FALSE(asked[1].fold_groups());
  CHECK_FALSE(asked[2].fold_groups());
  CHECK(asked[2].group() == "pole");
  services.experiments.experiments[0].clear_group();
  CHECK(ExperimentExitStatus(AskList(flags).status()) == 2);
}

TEST_CASE("A list has at most the wanted number of experiments, and says if there are more", "[grpc]") {
  FakeServices services;
  services.experiments.experiments.clear();
  for (int i = 0; i < 2'500; ++i) {
    services.experiments.experiments.push_back(testing::RunningExperiment(absl::StrCat("pole-", i)));
  }
  services.experiments.experiments[7].set_state(v1::RUN_STATE_SOLVED);
  const auto listed = [&](int64_t limit, std::optional<RunState> state) {
    return Json::parse(ValueOf(AskList({services.address(), true, limit, state})));
  };
  CHECK(listed(2'001, std::nullopt)["experiments"].size() == 2'001);
  CHECK(listed(2'001, std::nullopt)["more"] == true);
  CHECK(listed(9'999, std::nullopt)["experiments"].size() == 2'500);
  CHECK(listed(9'999, std::nullopt)["more"] == false);
  REQUIRE(listed(5, RunState::kSolved)["experiments"].size() == 1);
  CHECK(listed(5, RunState::kSolved)["experiments"][0]["id"] == "pole-7");
  CHECK(absl::StrContains(ValueOf(AskList({services.address(), false, 2, std::nullopt})), "older ones are not shown"));
}

TEST_CASE("A submission reports why the experiment waits", "[grpc]") {
  FakeServices services;
  const testing::TemporaryFolder folder;
  const SubmitFlags flags = FlagsFor(services, folder, "algorithm: {name: apex_dqn}\nstop: {max_env_steps: 1}\n");
  CHECK(ValueOf(Submit(flags, StopToken())).standing.empty());
  v1::ExperimentInfo info;
  info.set_id("pole-99abc");
  info.set_state(v1::RUN_STATE_QUEUED);
  info.set_reason("waits for 1 evaluator");
  services.experiments.experiments.push_back(info);
  CHECK(ValueOf(Submit(flags, StopToken())).standing == "pole-99abc: queued: waits for 1 evaluator\n");
}

TEST_CASE("The status without an experiment shows the pool and all experiments", "[grpc]") {
  FakeServices services;
  services.experiments.pool.set_software_version("1.2.3");
  services.experiments.pool.add_members()->set_kind(v1::WORKER_KIND_LEARNER);
  services.workers.overview = testing::SampleSnapshot().overview;
  StatusFlags flags;
  flags.target.param_server = services.address();
  const std::string text = ValueOf(AskStatus(flags));
  CHECK(absl::StrContains(text, "  learner  "));
  CHECK(absl::StrContains(text, "  pole-x7k2q  running  "));
  CHECK(absl::StrContains(text, "  pole-x7k2q: nothing is slow"));
  flags.json = true;
  const Json all = Json::parse(ValueOf(AskStatus(flags)));
  CHECK(all["software_version"] == "1.2.3");
  CHECK(all["pool"].size() == 1);
  CHECK(all["experiments"].size() == 1);
  CHECK(all["experiments"][0]["bottleneck"]["station"] == "none");
}

TEST_CASE("The status of an experiment shows its processes' reports", "[grpc]") {
  FakeServices services;
  services.workers.overview = testing::SampleSnapshot().overview;
  StatusFlags flags;
  flags.target.param_server = services.address();
  flags.target.experiment_id = "pole-x7k2q";
  CHECK(absl::StrContains(ValueOf(AskStatus(flags)), "pole-x7k2q: running"));
  flags.json = true;
  CHECK(Json::parse(ValueOf(AskStatus(flags)))["id"] == "pole-x7k2q");
  flags.target.experiment_id = "pole-00000";
  CHECK(ExperimentExitStatus(AskStatus(flags).status()) == 2);
  flags.target.param_server = "127.0.0.1:1";
  CHECK(ExperimentExitStatus(AskStatus(flags).status()) == 1);
}

TEST_CASE("Experiments can be stopped, resumed and deleted; deleting one that has not ended is refused", "[grpc]") {
  FakeServices services;
  using Kind = ChangeFlags::Change;
  const auto change = [&services](Kind kind, bool json = false) {
    return ValueOf(Change({services.address(), {"pole-x7k2q"}, kind, json}));
  };
  CHECK(change(Kind::kStop).text == "pole-x7k2q: stopped\n");
  CHECK(change(Kind::kResume).text == "pole-x7k2q: queued\n");
  const Changed early = change(Kind::kDelete);
  CHECK(early.text.empty());
  REQUIRE(early.errors.size() == 1);
  CHECK(ExperimentExitStatus(early.errors[0]) == 2);
  services.experiments.experiments[0].set_ended_at_us(1);
  CHECK(change(Kind::kDelete).text == "pole-x7k2q: deleted\n");
  const Json stopped = Json::parse(change(Kind::kStop, /*json=*/true).text);
  CHECK(stopped["id"] == "pole-x7k2q");
  CHECK(stopped["outcome"] == "stopped");
  CHECK(Json::parse(change(Kind::kDelete, true).text) == Json{{"id", "pole-x7k2q"}, {"outcome", "deleted"}});
  for (const Kind kind : {Kind::kStop, Kind::kResume, Kind::kDelete, Kind::kPriority}) {
    CHECK(ExperimentExitStatus(Change({services.address(), {"pole-00000"}, kind}).status()) == 2);
  }
}

TEST_CASE("Several experiments and groups are changed one after the other, and each outcome is told", "[grpc]") {
  FakeServices services;
  std::vector<v1::ExperimentInfo>& experiments = services.experiments.experiments;
  for (const char* const id : {"cart-1-0", "cart-1-1"}) {
    experiments.push_back(testing::RunningExperiment(id));
    experiments.back().set_group("cart-1");
  }
  experiments.back().set_ended_at_us(1);
  ChangeFlags flags;
  flags.param_server = services.address();
  flags.ids = {"cart", "pole", "cart-1-1"};
  const Changed stopped = ValueOf(Change(flags));
  CHECK(stopped.text == "pole-x7k2q: stopped\ncart-1-1: stopped\ncart-1-0: stopped\n");
  CHECK(stopped.errors.empty());
  flags.change = ChangeFlags::Change::kDelete;
  const Changed deleted = ValueOf(Change(flags));
  CHECK(deleted.text == "cart-1-1: deleted\n");
  REQUIRE(deleted.errors.size() == 2);
  CHECK(absl::StrContains(deleted.errors[0].message(), "cart-1-0"));
  flags.json = true;
  const Json all = Json::parse(ValueOf(Change(flags)).text);
  REQUIRE(all.size() == 3);
  CHECK(all[0].contains("error"));
  CHECK(all[1]["outcome"] == "deleted");
  services.experiments.changes.clear();
  flags.ids = {"pole", "none"};
  CHECK(ExperimentExitStatus(Change(flags).status()) == 2);
  CHECK(services.experiments.changes.empty());
}

TEST_CASE("A resume passes later limits on, and a priority its number", "[grpc]") {
  FakeServices services;
  ChangeFlags flags;
  flags.param_server = services.address();
  flags.ids = {"pole"};
  flags.change = ChangeFlags::Change::kResume;
  flags.limits = {{"stop.max_env_steps", "9"}};
  REQUIRE_OK(Change(flags).status());
  CHECK(services.experiments.changes.at(0) == "resume stop.max_env_steps=9 pole-x7k2q");
  flags.change = ChangeFlags::Change::kPriority;
  flags.priority = -4;
  CHECK(ValueOf(Change(flags)).text == "pole-x7k2q: priority -4\n");
}

TEST_CASE("A verb for one experiment takes the beginning of its id, but no group", "[grpc]") {
  FakeServices services;
  AddEvents(1, &services);
  std::ostringstream out;
  REQUIRE_OK(Logs({services.address(), "pole", /*follow=*/false}, StopToken(), &out));
  CHECK_FALSE(out.str().empty());
  for (const char* const id : {"cart-1-0", "cart-1-1"}) {
    services.experiments.experiments.push_back(testing::RunningExperiment(id));
    services.experiments.experiments.back().set_group("cart-1");
  }
  const absl::Status group = Logs({services.address(), "cart-1", false}, StopToken(), &out);
  CHECK(ExperimentExitStatus(group) == 2);
  CHECK(absl::StrContains(group.message(), "cart-1-1"));
}

TEST_CASE("The changes of numbers are printed", "[grpc]") {
  FakeServices services;
  SetFlags flags{services.address(), "pole-x7k2q", {{"algorithm.clip", "0.1"}, {"algorithm.lambda", "1"}}};
  CHECK(ValueOf(SetNumbers(flags)).text == "algorithm.clip: old -> 0.1\nalgorithm.lambda: old -> 1\n");
  flags.dry_run = true;
  CHECK(ValueOf(SetNumbers(flags)).text ==
        "algorithm.clip: unset -> 0.1 (not set)\nalgorithm.lambda: unset -> 1 (not set)\n");
  flags.json = true;
  const Json json = Json::parse(ValueOf(SetNumbers(flags)).text);
  CHECK(json["dry_run"] == true);
  CHECK(json["changes"][1] == Json{{"key", "algorithm.lambda"}, {"from", "unset"}, {"to", "1"}});
  flags.id = "pole-00000";
  CHECK(ExperimentExitStatus(SetNumbers(flags).status()) == 2);
  services.experiments.experiments.push_back(testing::RunningExperiment("cart-1-0"));
  services.experiments.experiments.back().set_group("cart-1");
  flags = {services.address(), "cart-1", {{"algorithm.clip", "0.1"}}};
  CHECK(ValueOf(SetNumbers(flags)).text == "cart-1-0:\nalgorithm.clip: old -> 0.1\n");
  flags = {services.address(), "pole-x7k2q", {}};
  CHECK(ValueOf(SetNumbers(flags)).text == "nothing changes: the numbers have these values\n");
}

TEST_CASE("Events are printed page after page", "[grpc]") {
  FakeServices services;
  AddEvents(5, &services);
  std::ostringstream out;
  REQUIRE_OK(Logs({services.address(), "pole-x7k2q", /*follow=*/false}, StopToken(), &out));
  const std::string text = out.str();
  CHECK(std::count(text.begin(), text.end(), '\n') == 5);
  CHECK(absl::EndsWith(text, "event 5\n"));
  std::ostringstream json;
  REQUIRE_OK(Logs({services.address(), "pole-x7k2q", /*follow=*/false, /*json=*/true}, StopToken(), &json));
  std::istringstream lines(json.str());
  int64_t numbers = 0;
  for (std::string line; std::getline(lines, line); ++numbers) {
    CHECK(Json::parse(line)["number"] == numbers + 1);
    CHECK(Json::parse(line)["text"] == "event " + std::to_string(numbers + 1));
  }
  CHECK(numbers == 5);
  CHECK(ExperimentExitStatus(Logs({services.address(), "pole-00000", false}, StopToken(), &out)) == 2);
}

TEST_CASE("With --follow all events are printed until the end", "[grpc]") {
  FakeServices services;
  AddEvents(1, &services);
  int asked = 0;
  services.experiments.before_get = [&] {
    if (++asked == 2) {
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting");
    }
    if (asked == 3) {
      AddEvents(3, &services);
      services.experiments.experiments[0].set_state(v1::RUN_STATE_FAILED);
    }
    return grpc::Status::OK;
  };
  std::ostringstream out;
  REQUIRE_OK(Logs({services.address(), "pole-x7k2q", /*follow=*/true}, StopToken(), &out));
  CHECK(absl::EndsWith(out.str(), "event 3\n"));
  services.experiments.experiments[0].set_state(v1::RUN_STATE_RUNNING);
  std::ostringstream full;
  full.setstate(std::ios::badbit);
  CHECK(ExperimentExitStatus(Logs({services.address(), "pole-x7k2q", true}, StopToken(), &full)) == 1);
  const StopToken stop;
  stop.RequestStop();
  CHECK(ExperimentExitStatus(Logs({services.address(), "pole-x7k2q", true}, stop, &out)) == 130);
}

}  // namespace
}  // namespace waggle
