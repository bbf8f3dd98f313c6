#include "param_server/experiments/experiment_host.h"

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "common/base/log_context.h"
#include "common/base/metrics/prometheus_text.h"
#include "tests/param_server/experiments/host_fixture.h"

namespace waggle::testing {
namespace {

TEST_CASE_METHOD(HostFixture, "a wrong experiment is refused, and a repeated submission counts once", "[unit]") {
  Start();
  const auto submit = [this](const std::string& yaml, const std::string& request = "") {
    return host->Submit({yaml, yaml, 0, request});
  };
  const absl::Status refused = submit("algorithm: {name: apex_dqm}\nstop: {max_env_steps: 1}\n").status();
  CHECK(absl::IsInvalidArgument(refused));
  CHECK_THAT(std::string(refused.message()), Catch::Contains("apex_dqn"));
  CHECK(absl::IsInvalidArgument(submit("{").status()));
  CHECK(absl::IsInvalidArgument(submit(std::string(size_t{2} << 20, ' ')).status()));
  CHECK(absl::IsInvalidArgument(host->Submit({Yaml("x"), Yaml("x"), int64_t{1} << 40, ""}).status()));
  CHECK(host->List({}).experiments().empty());

  const std::vector<std::string> first = ValueOf(submit(Yaml("x"), "request-1"));
  CHECK(ValueOf(submit(Yaml("x"), "request-1")) == first);
  CHECK(ValueOf(submit(Yaml("x"), "request-2")) != first);
  CHECK(host->List({}).experiments_size() == 2);
  CHECK(absl::IsNotFound(host->Get("nothing").status()));
  CHECK(absl::IsNotFound(host->Stop("nothing")));
  CHECK(absl::IsNotFound(host->Resume("nothing")));
  CHECK(absl::IsNotFound(host->Delete("nothing")));
  CHECK(absl::IsNotFound(host->Events("nothing", 0).status()));
  CHECK(absl::IsNotFound(host->PastOverview("nothing").status()));
  CHECK(absl::IsFailedPrecondition(host->PastOverview("").status()));  // There are two.
}

TEST_CASE_METHOD(HostFixture, "events name the trace of the call that causes them", "[unit]") {
  Start();
  std::string id;
  {
    const LogScope scope({"", "", "0af7651916cd43dd8448eb211c80319c"});
    id = Submit("x");
    REQUIRE_OK(host->Stop(id));
  }
  REQUIRE_OK(host->Resume(id));
  std::vector<std::string> texts;
  for (const ExperimentEvent& event : ValueOf(host->Events(id, 0))) {
    texts.push_back(event.text);
  }
  CHECK_THAT(texts, Catch::VectorContains<std::string>("submitted (trace 0af7651916cd43dd8448eb211c80319c)"));
  CHECK_THAT(texts, Catch::VectorContains<std::string>("stopped by a user (trace 0af7651916cd43dd8448eb211c80319c)"));
  CHECK_THAT(texts, Catch::VectorContains<std::string>("resumed by a user: in the queue again"));
}

TEST_CASE_METHOD(HostFixture, "the host writes its experiments, its pool and the pool's events", "[unit]") {
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  const std::string queued = Submit("y", "", -1);
  RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1; });
  PrometheusText text;
  host->WriteFigures(&text);
  const std::string all = text.Text();
  CAPTURE(all);
  CHECK_THAT(all, Catch::Contains("waggle_hub_experiments{state=\"running\"} 1\n"));
  CHECK_THAT(all, Catch::Contains("waggle_hub_experiments{state=\"queued\"} 1\n"));
  CHECK_THAT(all, Catch::Contains("waggle_hub_experiments{state=\"failed\"} 0\n"));
  CHECK_THAT(all, Catch::Contains("waggle_hub_pool_members{kind=\"actor\"} 1\n"));
  CHECK_THAT(all, Catch::Contains("waggle_hub_pool_orders{kind=\"actor\"} 1\n"));
  CHECK_THAT(all, Catch::Contains("waggle_hub_experiment_env_steps_total{experiment=\"" + id + "\"} 0\n"));
  CHECK_THAT(all, !Catch::Contains(queued));  // Only experiments that run are labels.
  CHECK_THAT(all, !Catch::Contains("waggle_hub_pool_events_total{event=\"ordered\"} 0\n"));
}

TEST_CASE_METHOD(HostFixture, "a deleted experiment leaves nothing behind", "[unit]") {
  options.output_pattern = folder.File("out/{id}");
  Start();
  WholeCrew();
  const std::string id = Submit("x");
  RoundsUntil("orders", [&] { return workers.at("actor").held_size() == 1; });
  workers.at("replay").add_kept(id);
  workers.at("replay").add_kept("of-another-hub");
  Round();
  CHECK(discarded.at("replay").empty());
  Worker("another", WorkerKind::kReplayServer).add_kept(id);
  Round();
  CHECK(discarded.at("another") == std::vector<std::string>{id});  // The tables of a lost seat.
  workers.erase("another");
  REQUIRE_OK(host->Stop(id));
  EndAll();
  RoundsUntil("the run's end", [&] { return Find(id) == nullptr; });
  Round();
  CHECK(discarded.at("replay") == std::vector<std::string>{id});
  CHECK(std::filesystem::exists(folder.File("out/" + id)));
  REQUIRE_OK(host->Delete(id));
  CHECK_FALSE(std::filesystem::exists(folder.File("out/" + id)));
  CHECK_FALSE(std::filesystem::exists(folder.File("hub/experiments/" + id)));
  CHECK(host->List({}).experiments().empty());
  CHECK(absl::IsNotFound(host->Delete(id)));
  host.reset();
  Start();  // A replay server that was away also hears of it from the next hub.
  Round();
  CHECK(discarded.at("replay") == std::vector<std::string>{id});
}

TEST_CASE_METHOD(HostFixture, "experiments with the same folder are refused", "[unit]") {
  options.output_pattern = folder.File("out");
  Start();
  const std::string id = Submit("x");
  const absl::Status second = host->Submit({Yaml("y"), Yaml("y"), 0, ""}).status();
  CHECK(absl::IsFailedPrecondition(second));
  CHECK_THAT(std::string(second.message()), Catch::Contains(id) && Catch::Contains("{id}"));
}

TEST_CASE_METHOD(HostFixture, "experiments are listed from the newest on, a page at a time", "[unit]") {
  Start();
  std::vector<std::string> ids;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    ids.insert(ids.begin(), Submit(name));
  }
  REQUIRE_OK(host->Stop(ids[1]));
  REQUIRE_OK(host->Stop(ids[3]));
  const auto all = [&](ExperimentQuery query) {
    std::vector<std::string> listed;
    bool more = false;
    do {
      const v1::ListExperimentsResponse page = host->List(query);
      CHECK(page.experiments_size() <= query.limit);
      for (const v1::ExperimentInfo& info : page.experiments()) {
        listed.push_back(info.id());
      }
      more = absl::SimpleAtoi(page.next_page_token(), &query.before);
    } while (more);
    return listed;
  };
  for (const bool restarted : {false, true}) {
    if (restarted) {
      host.reset();
      Start();
    }
    for (const int64_t limit : {1, 2, 5, 100}) {
      ExperimentQuery query;
      query.limit = limit;
      CHECK(all(query) == ids);
      query.states = {RunState::kStopped};
      CHECK(all(query) == std::vector<std::string>{ids[1], ids[3]});
      query.states = {RunState::kRunning, RunState::kFailed};
      CHECK(all(query).empty());
    }
  }
  REQUIRE_OK(host->Delete(ids[1]));
  ids.erase(ids.begin() + 1);
  CHECK(all({}) == ids);
}

TEST_CASE_METHOD(HostFixture, "a submission that is repeated after a restart counts once", "[unit]") {
  Start();
  const std::string id = ValueOf(host->Submit({Yaml("x"), Yaml("x"), 0, "request"})).front();
  host.reset();
  Start();
  CHECK(ValueOf(host->Submit({Yaml("x"), Yaml("x"), 0, "request"})) == std::vector<std::string>{id});
  CHECK(ValueOf(host->Texts(id)).submitted_yaml == Yaml("x"));
}

}  // namespace
}  // namespace waggle::testing
