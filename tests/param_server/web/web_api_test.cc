#include "param_server/web/web_api.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/common/hub/summary/sample_overview.h"
#include "tests/param_server/web/fake_source.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle::testing {
namespace {

using Json = nlohmann::json;

struct Fixture {
  const TemporaryFolder folder;
  FakeSource source{23, 12, 6, folder.path(), SampleOverview()};
  WebApi api{&source};

  HttpResponse Ask(const std::string& path, std::map<std::string, std::string> parameters = {},
                   const std::string& method = "GET") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.parameters = std::move(parameters);
    request.peer = "127.0.0.1";
    request.headers = {{"host", "localhost:7080"}};
    return api.Answer(request);
  }
  Json Get(const std::string& path, std::map<std::string, std::string> parameters = {}) {
    const HttpResponse response = Ask(path, std::move(parameters));
    INFO(response.body);
    REQUIRE(response.status == 200);
    CHECK(response.content_type == "application/json");
    return Json::parse(response.body);
  }
  // The message of a refusal.
  std::string Refused(int status, const HttpResponse& response) {
    INFO(response.body);
    REQUIRE(response.status == status);
    CHECK(response.content_type == "application/json");
    const Json error = Json::parse(response.body).at("error");
    CHECK(error.at("status") == status);
    return error.at("message");
  }
};

TEST_CASE("experiments come in pages, the newest first", "[unit]") {
  Fixture f;
  Json page = f.Get("/api/experiments", {{"limit", "10"}});
  REQUIRE(page["experiments"].size() == 10);
  CHECK(page["experiments"][0]["id"] == "pole-22");
  CHECK(page["experiments"][0]["state"] == "queued");
  CHECK(page["experiments"][0]["reason"] == "waits for a learner");
  CHECK_FALSE(page["experiments"][0].contains("effective_yaml"));
  page = f.Get("/api/experiments", {{"limit", "10"}, {"before", page["next"]}});
  REQUIRE(page["experiments"].size() == 10);
  CHECK(page["experiments"][0]["id"] == "pole-12");
  page = f.Get("/api/experiments", {{"limit", "10"}, {"before", page["next"]}});
  CHECK(page["experiments"].size() == 3);
  CHECK(page["next"].is_null());
}

TEST_CASE("experiments are filtered by state, by name, and by a text in any of their names", "[unit]") {
  Fixture f;
  const Json running = f.Get("/api/experiments", {{"state", "running,queued"}});
  CHECK(running["experiments"].size() == 6);
  CHECK(f.Get("/api/experiments", {{"name", "cart"}})["experiments"].size() == 11);
  const Json found = f.Get("/api/experiments", {{"text", "POLE-1"}});
  REQUIRE(found["experiments"].size() == 11);  // pole-1 and pole-10 to pole-19.
  CHECK(f.Get("/api/experiments", {{"text", "apex"}, {"limit", "4"}})["experiments"].size() == 4);
  CHECK(f.Get("/api/experiments", {{"text", "<none>"}})["experiments"].empty());
}

TEST_CASE("the pool comes in pages, with the number of each kind", "[unit]") {
  Fixture f;
  const Json page = f.Get("/api/pool", {{"limit", "5"}, {"offset", "10"}});
  CHECK(page["in_all"] == 12);
  CHECK(page["kinds"] == Json({{"learner", 2}, {"actor", 10}}));
  REQUIRE(page["members"].size() == 2);
  CHECK(page["members"][0]["worker_id"] == "worker-10");
  CHECK(page["members"][0]["kind"] == "learner");
  CHECK(page["members"][0]["orders"][0]["role"] == "actor");
}

TEST_CASE("an experiment has its loop, its bottleneck, its workers and its figures", "[unit]") {
  Fixture f;
  const Json run = f.Get("/api/experiments/pole-5");
  CHECK(run["id"] == "pole-5");
  CHECK(run["state"] == "running");
  CHECK(run["bottleneck"]["station"] == "none");
  CHECK(run["loop"]["hops"].size() == 5);
  CHECK(run["figures"]["algorithm/loss"] == 0.125);
  REQUIRE(run["workers"].size() == 6);
  CHECK(run["workers"][0]["role"] == "actor");
  CHECK(run["workers"][0]["waiting_fraction"] == 0.1);
  CHECK(run["workers"][0]["rates"]["env_steps"] == 8'100);
  CHECK(run["workers_in_all"] == 6);
  CHECK(run["problems"].empty());
  f.source.overview()->set_weights_unsaved("the disk is full");
  CHECK(f.Get("/api/experiments/pole-5")["problems"].size() == 1);
}

TEST_CASE("the workers of a run of thousands are bounded, and counted", "[unit]") {
  Fixture f;
  for (int i = 10; i < 3'000; ++i) {
    f.source.AddActor(i);
  }
  const Json run = f.Get("/api/experiments/pole-5");
  CHECK(run["workers"].size() == 500);
  CHECK(run["workers_in_all"] == 6 + 2'990);
}

TEST_CASE("curves are read from the run's folder, those that are asked for", "[unit]") {
  Fixture f;
  CHECK(f.Get("/api/experiments/pole-5/curves", {{"names", "a"}})["curves"].empty());
  std::filesystem::create_directory(f.folder.File("pole-5"));
  std::ofstream(f.folder.File("pole-5/metrics.csv"))
      << "step,seconds,name,value\n7,1.5,a,3.25\n9,2.5,a,4\n9,2.5,b/c,1\n";
  const Json answer = f.Get("/api/experiments/pole-5/curves", {{"names", "a,unknown"}});
  CHECK(answer["complete"] == true);
  CHECK(answer["names"] == Json({"a", "b/c"}));
  CHECK(answer["curves"].size() == 1);
  CHECK(answer["curves"]["a"]["step"] == Json({7, 9}));
  CHECK(answer["curves"]["a"]["mean"] == Json({3.25, 4}));
  CHECK(answer["curves"]["a"]["seconds"] == Json({1.5, 2.5}));
  std::string many;
  for (int i = 0; i < 33; ++i) {
    many += "x,";
  }
  CHECK_THAT(f.Refused(400, f.Ask("/api/experiments/pole-5/curves", {{"names", many}})), Catch::Contains("names"));
}

TEST_CASE("events come from a number on, and the texts as they are", "[unit]") {
  Fixture f;
  const Json events = f.Get("/api/experiments/pole-5/events", {{"after", "1"}})["events"];
  REQUIRE(events.size() == 2);
  CHECK(events[0] == Json({{"number", 2}, {"at_us", 2'000'000}, {"text", "event 2"}}));
  const Json yaml = f.Get("/api/experiments/pole-5/yaml");
  CHECK(yaml["submitted"] == "submitted: <b>1</b>\n");
  CHECK(yaml["effective"] == "effective: 2\n");
}

TEST_CASE("an ended experiment's tables are not asked for", "[unit]") {
  Fixture f;
  const Json waits = f.Get("/api/experiments/pole-1/waits");
  CHECK(waits["tables"].empty());
  CHECK(waits["unanswered"].empty());
}

TEST_CASE("an answer that the client has is not sent again", "[unit]") {
  Fixture f;
  const HttpResponse first = f.Ask("/api/experiments");
  std::string tag;
  for (const auto& [name, value] : first.headers) {
    tag = name == "ETag" ? value : tag;
  }
  REQUIRE_FALSE(tag.empty());
  HttpRequest request;
  request.method = "GET";
  request.path = "/api/experiments";
  request.headers = {{"if-none-match", tag}};
  CHECK(f.api.Answer(request).status == 304);
  CHECK(f.api.Answer(request).body.empty());
  REQUIRE_OK(f.source.Stop("pole-5"));
  CHECK(f.api.Answer(request).status == 200);
}

TEST_CASE("wrong paths, ids, methods and numbers are refused with the reason", "[unit]") {
  Fixture f;
  for (const char* const path : {"/api/", "/api/pools", "/api/experimentss", "/api/experiments/pole-5/secrets",
                                 "/api/experiments/pole-5/curves/more", "/api/experiments/pole-5/"}) {
    INFO(path);
    const HttpResponse answer = f.Ask(path);
    CHECK((answer.status == 404 || std::string(path) == "/api/experiments/pole-5/"));
  }
  for (const char* const part : {"", "/curves", "/events", "/yaml", "/waits"}) {
    const std::string path = std::string("/api/experiments/nobody") + part;
    CHECK_THAT(f.Refused(404, f.Ask(path)), Catch::Contains("nobody"));
    CHECK_THAT(f.Refused(405, f.Ask(path, {}, "POST")), Catch::Contains("GET"));
  }
  CHECK_THAT(f.Refused(404, f.Ask("/api/experiments/nobody/stop", {}, "POST")), Catch::Contains("nobody"));
  CHECK_THAT(f.Refused(405, f.Ask("/api/experiments/pole-5/stop")), Catch::Contains("POST"));
  CHECK_THAT(f.Refused(405, f.Ask("/api/pool", {}, "POST")), Catch::Contains("GET"));
  using Parameters = std::map<std::string, std::string>;
  for (const auto& [path, parameters] :
       std::vector<std::pair<std::string, Parameters>>{{"/api/experiments", {{"limit", "0"}}},
                                                       {"/api/experiments", {{"limit", "501"}}},
                                                       {"/api/experiments", {{"limit", "x\x01"}}},
                                                       {"/api/experiments", {{"before", "-1"}}},
                                                       {"/api/experiments", {{"state", "sleeping"}}},
                                                       {"/api/pool", {{"offset", "1e99"}}},
                                                       {"/api/experiments/pole-5/events", {{"after", "-3"}}}}) {
    INFO(path);
    CHECK_THAT(f.Refused(400, f.Ask(path, parameters)), Catch::Contains(parameters.begin()->first));
  }
}

TEST_CASE("a user of this machine changes priorities within their range", "[unit]") {
  Fixture f;
  const std::string path = "/api/experiments/pole-5/priority";
  const HttpResponse changed = f.Ask(path, {{"priority", "-7"}}, "POST");
  REQUIRE(changed.status == 200);
  CHECK(Json::parse(changed.body)["priority"] == -7);
  CHECK(ValueOf(f.source.Get("pole-5")).priority() == -7);
  CHECK_THAT(f.Refused(400, f.Ask(path, {}, "POST")), Catch::Contains("priority"));
  CHECK_THAT(f.Refused(400, f.Ask(path, {{"priority", "high"}}, "POST")), Catch::Contains("high"));
  CHECK_THAT(f.Refused(400, f.Ask(path, {{"priority", "1000001"}}, "POST")), Catch::Contains("1000000"));
  f.Refused(404, f.Ask("/api/experiments/nobody/priority", {{"priority", "1"}}, "POST"));
  f.Refused(405, f.Ask(path));
}

TEST_CASE("a user of this machine stops and resumes experiments, others do not", "[unit]") {
  Fixture f;
  const HttpResponse stopped = f.Ask("/api/experiments/pole-5/stop", {}, "POST");
  REQUIRE(stopped.status == 200);
  CHECK(Json::parse(stopped.body)["state"] == "stopped");
  CHECK(f.Ask("/api/experiments/pole-5/resume", {}, "POST").status == 200);
  CHECK_THAT(f.Refused(409, f.Ask("/api/experiments/pole-5/resume", {}, "POST")), Catch::Contains("resumed"));

  HttpRequest request;
  request.method = "POST";
  request.path = "/api/experiments/pole-10/stop";
  request.peer = "10.0.0.7";
  request.headers = {{"host", "hub:7080"}};
  f.Refused(403, f.api.Answer(request));
  CHECK(ValueOf(f.source.Get("pole-10")).state() == v1::RUN_STATE_RUNNING);
}

}  // namespace
}  // namespace waggle::testing
