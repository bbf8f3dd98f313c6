#include "param_server/web/web_server.h"

#include <utility>

#include "common/base/status_macros.h"
#include "param_server/web/assets.h"
#include "param_server/web/web_answer.h"
#include "param_server/web/web_guard.h"

namespace waggle {
namespace {

// The page runs no script and loads nothing from elsewhere, and no other page can frame it.
constexpr char kPolicy[] =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

HttpResponse WithPolicy(HttpResponse response) {
  response.headers.emplace_back("Content-Security-Policy", kPolicy);
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  return response;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WebServer>> WebServer::Start(const std::string& listen, WebSource* source) {
  auto web = std::unique_ptr<WebServer>(new WebServer(source));
  HttpRoutes routes;
  for (const WebAsset& asset : WebAssets()) {
    const auto answer = [&asset](const HttpRequest& request) {
      return WithPolicy(FileAnswer(request, asset.content_type, asset.text));
    };
    routes.Get(asset.path, answer);
    if (asset.path == "/index.html") {
      routes.Get("/", answer);
    }
  }
  const auto api = [web = web.get()](const HttpRequest& request) { return WithPolicy(web->api_.Answer(request)); };
  routes.Get("/api/*", api);
  routes.Post("/api/*", api);
  HttpServerOptions options;
  options.flag = "--web";
  options.threads = 8;            // Some may wait for replay servers.
  options.max_connections = 256;  // A browser opens up to six, and a page asks for several things at once.
  WAGGLE_ASSIGN_OR_RETURN(web->server_, HttpServer::Start(listen, std::move(routes), options));
  return web;
}

}  // namespace waggle
