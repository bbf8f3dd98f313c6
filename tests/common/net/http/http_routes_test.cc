#include "common/net/http/http_server.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

HttpHandler Saying(const std::string& body) {
  return [body](const HttpRequest&) {
    HttpResponse response;
    response.body = body;
    return response;
  };
}

std::string Said(const HttpRoutes& routes, const std::string& method, const std::string& path) {
  const HttpRoutes::Route* const route = routes.Find(method, path);
  return route == nullptr ? "nobody" : route->handler({}).body;
}

TEST_CASE("a whole path is preferred to a beginning, and a longer beginning to a shorter one", "[unit]") {
  HttpRoutes routes;
  routes.Get("/", Saying("page"));
  routes.Get("/api/*", Saying("api"));
  routes.Get("/api/runs/*", Saying("runs"));
  routes.Get("/api/runs/now", Saying("now"));
  CHECK(Said(routes, "GET", "/") == "page");
  CHECK(Said(routes, "GET", "/api/x") == "api");
  CHECK(Said(routes, "GET", "/api/runs/3") == "runs");
  CHECK(Said(routes, "GET", "/api/runs/now") == "now");
  CHECK(Said(routes, "GET", "/api") == "nobody");
  CHECK(Said(routes, "GET", "/other") == "nobody");
}

TEST_CASE("a path has its handlers' methods, and HEAD is a GET", "[unit]") {
  HttpRoutes routes;
  routes.Get("/figures", Saying("get"));
  routes.Post("/figures", Saying("post"));
  routes.Post("/stop", Saying("stop"));
  CHECK(Said(routes, "HEAD", "/figures") == "get");
  CHECK(Said(routes, "POST", "/figures") == "post");
  CHECK(Said(routes, "DELETE", "/figures") == "nobody");
  CHECK(Said(routes, "GET", "/stop") == "nobody");
  CHECK(routes.Methods("/figures") == "GET, HEAD, POST");
  CHECK(routes.Methods("/stop") == "POST");
  CHECK(routes.Methods("/nothing").empty());
}

}  // namespace
}  // namespace waggle
