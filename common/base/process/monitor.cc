#include "common/base/process/monitor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/log.h"
#include "common/base/process/process_figures.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

HttpResponse Verdict(const std::string& problem) {
  HttpResponse response;
  response.status = problem.empty() ? 200 : 503;
  response.body = absl::StrCat(problem.empty() ? "ok" : problem, "\n");
  return response;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Monitor>> Monitor::Start(const MonitorOptions& options) {
  std::unique_ptr<Monitor> monitor(new Monitor(options));
  if (options.listen.empty()) {
    return monitor;
  }
  HttpRoutes routes;
  routes.Get("/metrics", [monitor = monitor.get()](const HttpRequest&) { return monitor->Metrics(); });
  routes.GetByAnyone("/healthz", [monitor = monitor.get()](const HttpRequest&) { return monitor->Health(); });
  routes.GetByAnyone("/readyz", [monitor = monitor.get()](const HttpRequest&) { return monitor->Readiness(); });
  HttpServerOptions http;
  http.flag = "--metrics-listen";
  WAGGLE_ASSIGN_OR_RETURN(monitor->server_, HttpServer::Start(options.listen, std::move(routes), http));
  LogInfo("serving metrics at ", monitor->server_->scheme(), "://", monitor->address(), "/metrics");
  return monitor;
}

Monitor::Registration::~Registration() {
  MutexLock lock(&monitor_->mutex_);
  auto& all = monitor_->collects_;
  all.erase(std::find_if(all.begin(), all.end(), [this](const auto& each) { return each.get() == collect_; }));
}

std::unique_ptr<Monitor::Registration> Monitor::Add(Collect collect) {
  MutexLock lock(&mutex_);
  collects_.push_back(std::make_unique<Collect>(std::move(collect)));
  return std::unique_ptr<Registration>(new Registration(this, collects_.back().get()));
}

void Monitor::Beat() {
  const absl::Time now = options_.clock();
  MutexLock lock(&health_mutex_);
  beat_ = now;
}

void Monitor::SetUnready(const std::string& why) {
  MutexLock lock(&health_mutex_);
  unready_ = why;
}

HttpResponse Monitor::Metrics() {
  PrometheusText text;
  WriteProcessFigures(options_.part, &text);
  {
    MutexLock lock(&mutex_);
    for (const auto& collect : collects_) {
      (*collect)(&text);
    }
  }
  HttpResponse response;
  response.content_type = PrometheusText::kContentType;
  response.body = text.Text();
  return response;
}

HttpResponse Monitor::Health() {
  const absl::Time now = options_.clock();
  MutexLock lock(&health_mutex_);
  const absl::Duration silent = now - beat_;
  return Verdict(silent <= options_.most_silent
                     ? ""
                     : absl::StrCat("the main loop has not gone round for ", absl::ToInt64Seconds(silent), " s"));
}

HttpResponse Monitor::Readiness() {
  MutexLock lock(&health_mutex_);
  return Verdict(unready_);
}

}  // namespace waggle
