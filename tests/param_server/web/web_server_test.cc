#include "param_server/web/web_server.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "param_server/web/assets.h"
#include "param_server/web/host_source.h"
#include "tests/param_server/hub_server.h"
#include "tests/support/catch.h"
#include "tests/support/tcp_socket.h"

namespace waggle::testing {
namespace {

using Json = nlohmann::json;

struct Answered {
  int status = 0;
  std::string header;
  std::string body;
};

// The answer to a request without a body.
Answered Ask(const WebServer& server, const std::string& line, const std::string& headers = "") {
  TcpSocket client(server.address());
  REQUIRE(client.connected());
  const std::string host = absl::StrContains(headers, "Host: ") ? "" : absl::StrCat("Host: ", server.address(), "\r\n");
  client.Write(absl::StrCat(line, " HTTP/1.1\r\n", host, headers, "\r\n"));
  const std::string answer = client.ReadToEnd();
  const size_t end = answer.find("\r\n\r\n");
  REQUIRE(end != std::string::npos);
  return {std::stoi(answer.substr(9, 3)), answer.substr(0, end), answer.substr(end + 4)};
}

std::string Post(const std::string& path) {
  return absl::StrCat("POST ", path);
}

// A hub with its web server and one experiment in the queue.
struct Fixture {
  HubServer hub;
  HostSource source{hub.host.get()};
  const std::unique_ptr<WebServer> web = ValueOf(WebServer::Start("127.0.0.1:0", &source));
  const std::string yaml = "experiment: {name: pole}\nalgorithm: {name: apex_dqn}\nstop: {max_env_steps: 1}\n";
  const std::string id = ValueOf(hub.host->Submit({yaml, yaml, 3, ""})).front();

  Json Get(const std::string& path) {
    const Answered answer = Ask(*web, "GET " + path);
    INFO(answer.body);
    REQUIRE(answer.status == 200);
    return Json::parse(answer.body);
  }
};

TEST_CASE("the page and its files come from the server alone, which forbids all others", "[grpc]") {
  Fixture f;
  const Answered page = Ask(*f.web, "GET /");
  CHECK(page.status == 200);
  CHECK_THAT(page.header, Catch::Contains("Content-Security-Policy: default-src 'self'"));
  CHECK_THAT(page.header, Catch::Contains("Content-Type: text/html"));
  CHECK(Ask(*f.web, "GET /index.html").body == page.body);
  CHECK(WebAssets().size() >= 6);
  for (const WebAsset& asset : WebAssets()) {
    INFO(asset.path);
    const Answered file = Ask(*f.web, "GET " + asset.path);
    CHECK(file.status == 200);
    CHECK(file.body == asset.text);
    const std::string without_names = absl::StrReplaceAll(asset.text, {{"http://www.w3.org/", ""}});
    CHECK_FALSE(absl::StrContains(without_names, "//cdn"));
    CHECK_FALSE(absl::StrContains(without_names, "http://"));
    CHECK_FALSE(absl::StrContains(without_names, "https://"));
  }
  CHECK(Ask(*f.web, "GET /secret").status == 404);
  CHECK(Ask(*f.web, "GET /../hub.state").status == 404);
  CHECK(Ask(*f.web, "DELETE /api/pool").status == 405);
}

TEST_CASE("the API shows a hub's experiments, events, texts and pool", "[grpc]") {
  Fixture f;
  const Json list = f.Get("/api/experiments?state=queued&text=pole");
  REQUIRE(list["experiments"].size() == 1);
  CHECK(list["experiments"][0]["id"] == f.id);
  CHECK(list["experiments"][0]["priority"] == 3);
  const Json run = f.Get("/api/experiments/" + f.id);
  CHECK(run["state"] == "queued");
  CHECK(run["bottleneck"]["settings"].empty());
  CHECK(f.Get("/api/experiments/" + f.id + "/yaml")["submitted"] == f.yaml);
  CHECK(f.Get("/api/experiments/" + f.id + "/events")["events"].is_array());
  CHECK(f.Get("/api/experiments/" + f.id + "/curves?names=actor/env_steps")["curves"].empty());
  CHECK(f.Get("/api/experiments/" + f.id + "/waits")["tables"].empty());
  CHECK(f.Get("/api/pool")["in_all"] == 0);
  const Answered head = Ask(*f.web, "HEAD /api/pool");
  CHECK(head.status == 200);
  CHECK(head.body.empty());
}

TEST_CASE("an experiment is stopped from this machine's page, and from no other", "[grpc]") {
  Fixture f;
  const std::string stop = Post("/api/experiments/" + f.id + "/stop");
  const std::string port = f.web->address().substr(f.web->address().rfind(':'));
  for (const std::string& headers :
       {absl::StrCat("Origin: http://evil.example\r\n"), absl::StrCat("Origin: null\r\n"),
        absl::StrCat("Host: evil.example", port, "\r\nOrigin: http://evil.example", port, "\r\n"),
        absl::StrCat("Host: evil.example", port, "\r\n"), std::string("X-Forwarded-For: 10.0.0.1\r\n")}) {
    INFO(headers);
    CHECK(Ask(*f.web, stop, headers + "Content-Length: 0\r\n").status == 403);
  }
  CHECK(ValueOf(f.hub.host->Get(f.id)).state() == v1::RUN_STATE_QUEUED);
  const Answered done =
      Ask(*f.web, stop, absl::StrCat("Origin: http://", f.web->address(), "\r\nContent-Length: 0\r\n"));
  CHECK(done.status == 200);
  CHECK(Json::parse(done.body)["state"] == "stopped");
  CHECK(ValueOf(f.hub.host->Get(f.id)).state() == v1::RUN_STATE_STOPPED);
  CHECK(Ask(*f.web, Post("/api/experiments/" + f.id + "/resume"), "Content-Length: 0\r\n").status == 200);
  CHECK(ValueOf(f.hub.host->Get(f.id)).state() == v1::RUN_STATE_QUEUED);
  CHECK(Ask(*f.web, Post("/api/experiments/" + f.id + "/priority?priority=9"), "Content-Length: 0\r\n").status == 200);
  CHECK(ValueOf(f.hub.host->Get(f.id)).priority() == 9);
  CHECK(Ask(*f.web, Post("/api/experiments/nobody/stop"), "Content-Length: 0\r\n").status == 404);
}

TEST_CASE("a web server does not start at a taken or a wrong address", "[grpc]") {
  Fixture f;
  CHECK(absl::IsUnavailable(WebServer::Start(f.web->address(), &f.source).status()));
  CHECK(absl::IsInvalidArgument(WebServer::Start("nowhere", &f.source).status()));
}

}  // namespace
}  // namespace waggle::testing
