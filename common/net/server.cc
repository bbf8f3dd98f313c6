#include "common/net/server.h"

#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/net/channel.h"
#include "common/net/grpc_log.h"
#include "common/net/rpc_figures.h"
#include "common/net/security/security.h"

namespace waggle {
namespace {

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void Configure(const Keepalive& keepalive, grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(static_cast<int>(kMaxMessageBytes));
  builder->SetMaxSendMessageSize(static_cast<int>(kMaxMessageBytes));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(keepalive.period));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(keepalive.timeout));
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Clients that ping more often are turned away. The limit is a sixth of the server's own period, because clients ping
  // more often than servers.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              Milliseconds(keepalive.period / 6));
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 1'024);
  builder->AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder->SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(const std::string& listen,
                                                            const std::vector<grpc::Service*>& services,
                                                            const Keepalive& keepalive, RpcFigures* figures) {
  TakeGrpcLog();
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<Listener> listener, Listener::Open(listen));
  WAGGLE_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ServerCredentials> credentials,
                          ProcessSecurity().ServerCredentialsFor(listen));
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  Configure(keepalive, &builder);
  std::unique_ptr<Acceptor> acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  for (grpc::Service* service : services) {
    builder.RegisterService(service);
  }
  if (figures != nullptr) {
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> interceptors;
    interceptors.push_back(RpcFigures::NewInterceptors(figures));
    builder.experimental().SetInterceptorCreators(std::move(interceptors));
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    return absl::InternalError(absl::StrCat("gRPC does not start a server on ", listen));
  }
  return std::unique_ptr<RpcServer>(new RpcServer(std::move(server), std::move(acceptor), std::move(listener)));
}

RpcServer::RpcServer(std::unique_ptr<grpc::Server> server, std::unique_ptr<Acceptor> acceptor,
                     std::unique_ptr<Listener> listener)
    : server_(std::move(server)), acceptor_(std::move(acceptor)), listener_(std::move(listener)) {
  listener_->Start([this](int descriptor) {
    Acceptor::NewConnectionParameters connection;
    connection.fd = descriptor;
    acceptor_->HandleNewConnection(&connection);
  });
}

RpcServer::~RpcServer() {
  Shutdown(absl::ZeroDuration());
}

void RpcServer::Shutdown(absl::Duration grace) {
  listener_->Stop();
  if (grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService(); health != nullptr) {
    health->SetServingStatus(false);
  }
  const gpr_timespec deadline =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(absl::ToInt64Nanoseconds(grace), GPR_TIMESPAN));
  server_->Shutdown(deadline);
  server_->Wait();
}

}  // namespace waggle
