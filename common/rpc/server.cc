#include "common/rpc/server.h"

#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/annotate.h"
#include "common/base/host_port.h"
#include "common/base/status_macros.h"
#include "common/rpc/channel.h"
#include "common/rpc/grpc_log.h"

namespace waggle {
namespace {

void Configure(grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(kMaxMessageBytes));
  builder->SetMaxSendMessageSize(static_cast<int>(kMaxMessageBytes));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1'024);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  // Otherwise a second server on the same port would silently take half of the connections.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
}

// Of what gRPC says where it cannot listen, the system's own words, and what they mean.
std::string WhyNot(const std::string& said) {
  const std::pair<absl::string_view, absl::string_view> causes[] = {
      {"Address already in use", "the port is taken: another process listens on it"},
      {"Cannot assign requested address", "the host is not one of this machine's"},
      {"Permission denied", "this user may not listen on such a port"},
  };
  for (const auto& [words, cause] : causes) {
    if (absl::StrContains(said, words)) {
      return std::string(cause);
    }
  }
  return absl::StrCat("the port is taken, or the host is not one of this machine's", said.empty() ? "" : ": ",
                      absl::StripAsciiWhitespace(said));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const std::string& listen,
                                                            const std::vector<grpc::Service*>& services) {
  WAGGLE_RETURN_IF_ERROR(Annotate(ValidateHostPort(listen, /*allow_port_zero=*/true), "listening"));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  Configure(&builder);
  int port = 0;
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(), &port);
  for (grpc::Service* service : services) {
    builder.RegisterService(service);
  }
  KeptGrpcLog said;  // What it says is in the error.
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", listen, ": ", WhyNot(said.text())));
  }
  return std::unique_ptr<RpcServer>(
      new RpcServer(std::move(server), absl::StrCat(listen.substr(0, listen.rfind(':')), ":", port)));
}

RpcServer::RpcServer(std::unique_ptr<grpc::Server> server, std::string address)
    : server_(std::move(server)), address_(std::move(address)) {}

RpcServer::~RpcServer() {
  Shutdown(absl::ZeroDuration());
}

void RpcServer::Shutdown(absl::Duration grace) {
  if (grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService(); health != nullptr) {
    health->SetServingStatus(false);
  }
  const gpr_timespec deadline =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(absl::ToInt64Nanoseconds(grace), GPR_TIMESPAN));
  server_->Shutdown(deadline);
  server_->Wait();
}

}  // namespace waggle
