#pragma once

#include <atomic>
#include <string>

#include "absl/strings/string_view.h"
#include "common/net/http/http_server.h"
#include "param_server/web/replay_waits.h"
#include "param_server/web/run_curves.h"
#include "param_server/web/web_source.h"

namespace waggle {

// The hub's JSON for its web page, under /api/ (docs/dashboard.md). All answers are bounded in size. Thread-safe; its
// calls run in threads of the HTTP server and may wait for the disk and for replay servers.
class WebApi {
 public:
  // `source` outlives it.
  explicit WebApi(WebSource* source) : source_(source) {}

  // Errors are {"error": {"status": 404, "message": "…"}}.
  HttpResponse Answer(const HttpRequest& request);

 private:
  HttpResponse OfExperiment(const HttpRequest& request, const std::string& id, absl::string_view part);
  HttpResponse Curves(const HttpRequest& request, const std::string& id);
  HttpResponse Change(const HttpRequest& request, const std::string& id, absl::string_view change);

  WebSource* const source_;
  RunCurves curves_;
  ReplayWaits waits_;
  std::atomic<bool> changing_{false};  // One change at a time, as a change may hold a thread for long.
};

}  // namespace waggle
