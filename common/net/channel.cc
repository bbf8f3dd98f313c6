#include "common/net/channel.h"

#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <new>

#include "common/net/security/security.h"

namespace waggle {
namespace {

// Keeps the library's callback threads, which otherwise end with the last channel. If a callback dropped that one, they
// would have to join themselves, which aborts the process.
class CallbackThreads {
 public:
  // A channel without credentials connects to nothing. Its one call fails at once, but makes the channel hold the
  // threads.
  CallbackThreads() : channel_(grpc::CreateChannel("", nullptr)) {
    const grpc::Slice nothing;
    request_ = grpc::ByteBuffer(&nothing, 1);
    grpc::GenericStub(channel_).UnaryCall(&context_, "/", grpc::StubOptions(), &request_, &response_,
                                          [](const grpc::Status& /*status*/) {});
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
};

}  // namespace

std::shared_ptr<grpc::Channel> NewChannel(const std::string& address, const std::string& purpose,
                                          const Keepalive& keepalive,
                                          const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  // Never destroyed. In static memory, so that it does not count as leaked.
  alignas(CallbackThreads) static unsigned char memory[sizeof(CallbackThreads)];
  static const auto* const threads = new (memory) CallbackThreads();
  static_cast<void>(threads);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMaxMessageBytes));
  arguments.SetMaxSendMessageSize(static_cast<int>(kMaxMessageBytes));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(absl::ToInt64Milliseconds(keepalive.period)));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(absl::ToInt64Milliseconds(keepalive.timeout)));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // Servers restart in seconds; the library's own back-off grows to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  // The library's default is 30 s between look-ups of a name while attempts to connect fail.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 500);
  // In spite of its name, the limit of one attempt to connect. A short limit locks out busy or distant machines.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
  // Without compression: a small compressed message could unfold into any amount of memory.
  arguments.SetInt(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1 << GRPC_COMPRESS_NONE);
  // A stray http_proxy variable must not stand between two processes of a cluster.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetString("waggle.purpose", purpose);  // Channels share a connection when their arguments are equal.
  if (credentials != nullptr) {
    return grpc::CreateCustomChannel(address, credentials, arguments);
  }
  Security& security = ProcessSecurity();
  if (const std::string& name = security.options().server_name; !security.options().tls.empty() && !name.empty()) {
    // Servers of a pool come and go at addresses that no certificate can name, so they share a name.
    arguments.SetSslTargetNameOverride(name);
  }
  return grpc::CreateCustomChannel(address, security.channel_credentials(), arguments);
}

void SetDeadline(absl::Duration timeout, grpc::ClientContext* context) {
  const int64_t nanoseconds = absl::ToInt64Nanoseconds(timeout);
  context->set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(nanoseconds, GPR_TIMESPAN)));
}

}  // namespace waggle
