#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/metrics/duration_histogram.h"
#include "common/base/metrics/prometheus_text.h"
#include "common/base/threads/mutex.h"

namespace waggle {

// The durations of a server's calls by method and status, by the names of gRPC's own metrics (proposal A66). A stream
// is one call. Methods that this program does not have count as "other". Thread-safe.
class RpcFigures {
 public:
  // `path` is "/waggle.v1.ReplayService/Insert".
  void Count(const std::string& path, grpc::StatusCode code, absl::Duration duration) ABSL_LOCKS_EXCLUDED(mutex_);

  void Write(PrometheusText* text) const ABSL_LOCKS_EXCLUDED(mutex_);

  // For grpc::ServerBuilder: counts all calls of a server into `figures`, which outlive it.
  static std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> NewInterceptors(RpcFigures* figures);

 private:
  mutable Mutex mutex_;
  // By method and status. Histograms are never removed.
  std::map<std::pair<std::string, grpc::StatusCode>, std::unique_ptr<DurationHistogram>> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace waggle
