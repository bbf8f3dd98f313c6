#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/base/metrics/prometheus_text.h"
#include "common/base/steady_now.h"
#include "common/base/threads/mutex.h"
#include "common/net/http/http_server.h"

namespace waggle {

struct MonitorOptions {
  std::string listen;  // HOST:PORT; empty: serves nothing.
  std::string part;    // "learner".
  // The process counts as stuck if its main loop has not gone round for so long.
  absl::Duration most_silent = absl::Seconds(60);
  std::function<absl::Time()> clock = &SteadyNow;
};

// Serves a process's figures and health by HTTP: /metrics for Prometheus; /healthz, 200 unless the main loop is stuck;
// /readyz, 200 once the process serves or takes orders. Otherwise both answer 503 with the cause. Thread-safe.
class Monitor {
 public:
  // The errors are those of HttpServer::Start. Logs the address.
  static absl::StatusOr<std::unique_ptr<Monitor>> Start(const MonitorOptions& options);
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;

  // Empty if it serves nothing.
  std::string address() const { return server_ == nullptr ? "" : server_->address(); }

  // Adds a function that writes figures until the registration is destroyed, which waits while it runs. It is called
  // for each scrape, one at a time.
  using Collect = std::function<void(PrometheusText* text)>;
  class Registration {
   public:
    ~Registration();
    Registration(const Registration&) = delete;
    Registration& operator=(const Registration&) = delete;

   private:
    friend class Monitor;
    Registration(Monitor* monitor, const Collect* collect) : monitor_(monitor), collect_(collect) {}
    Monitor* const monitor_;
    const Collect* const collect_;
  };
  std::unique_ptr<Registration> Add(Collect collect) ABSL_LOCKS_EXCLUDED(mutex_);

  // Reports that the main loop has gone round. Until the first call the process counts as starting, not as stuck.
  void Beat() ABSL_LOCKS_EXCLUDED(health_mutex_);
  // Sets why the process is not ready, in words; empty: it is ready. The first reason is "starting".
  void SetUnready(const std::string& why) ABSL_LOCKS_EXCLUDED(health_mutex_);

 private:
  explicit Monitor(const MonitorOptions& options) : options_(options) {}

  HttpResponse Metrics() ABSL_LOCKS_EXCLUDED(mutex_);
  HttpResponse Health() ABSL_LOCKS_EXCLUDED(health_mutex_);
  HttpResponse Readiness() ABSL_LOCKS_EXCLUDED(health_mutex_);

  const MonitorOptions options_;
  Mutex mutex_;  // Held while functions write.
  std::vector<std::unique_ptr<Collect>> collects_ ABSL_GUARDED_BY(mutex_);
  Mutex health_mutex_;
  absl::Time beat_ ABSL_GUARDED_BY(health_mutex_) = absl::InfiniteFuture();  // The last; infinite before the first.
  std::string unready_ ABSL_GUARDED_BY(health_mutex_) = "starting";
  std::unique_ptr<HttpServer> server_;  // Last: its threads use the members above.
};

}  // namespace waggle
