#include "common/net/rpc_figures.h"

#include <google/protobuf/descriptor.h>

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/base/stopwatch.h"

namespace waggle {
namespace {

// "waggle.v1.ReplayService/Insert", or "other" for a method that is not of this program: peers choose names.
std::string MethodOf(const std::string& path) {
  const std::string name(absl::StripPrefix(path, "/"));
  const bool known = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
                         absl::StrReplaceAll(name, {{"/", "."}})) != nullptr;
  return known ? name : "other";
}

// The codes of gRPC and Abseil are the same.
std::string CodeName(grpc::StatusCode code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

// Counts one call. gRPC destroys it with the call.
class CallCounter final : public grpc::experimental::Interceptor {
 public:
  CallCounter(RpcFigures* figures, const char* path) : figures_(figures), path_(path) {}
  ~CallCounter() override {
    // A call without a status was cancelled.
    figures_->Count(path_, code_.value_or(grpc::StatusCode::CANCELLED), since_.Elapsed());
  }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(grpc::experimental::InterceptionHookPoints::PRE_SEND_STATUS)) {
      code_ = methods->GetSendStatus().error_code();
    }
    methods->Proceed();
  }

 private:
  RpcFigures* const figures_;
  const std::string path_;
  const Stopwatch since_;
  std::optional<grpc::StatusCode> code_;
};

class CallCounters final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallCounters(RpcFigures* figures) : figures_(figures) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) override {
    return new CallCounter(figures_, info->method());
  }

 private:
  RpcFigures* const figures_;
};

}  // namespace

void RpcFigures::Count(const std::string& path, grpc::StatusCode code, absl::Duration duration) {
  DurationHistogram* histogram = nullptr;
  {
    MutexLock lock(&mutex_);
    std::unique_ptr<DurationHistogram>& found = calls_[{MethodOf(path), code}];
    if (found == nullptr) {
      found = std::make_unique<DurationHistogram>();
    }
    histogram = found.get();
  }
  histogram->Observe(duration);
}

void RpcFigures::Write(PrometheusText* text) const {
  MutexLock lock(&mutex_);
  for (const auto& [call, histogram] : calls_) {
    text->Histogram("grpc_server_call_duration_seconds",
                    "The durations of calls to this process, by method and status.", histogram->counts(),
                    {{"grpc_method", call.first}, {"grpc_status", CodeName(call.second)}});
  }
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> RpcFigures::NewInterceptors(
    RpcFigures* figures) {
  return std::make_unique<CallCounters>(figures);
}

}  // namespace waggle
