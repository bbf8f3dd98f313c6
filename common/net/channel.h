#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/credentials.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/net/keepalive.h"

namespace waggle {

// The largest message that our processes take or send. Larger data travels in pieces.
inline constexpr int64_t kMaxMessageBytes = int64_t{64} << 20;
// Size of the pieces of bulk data. Larger pieces gain little and cost memory on both sides.
inline constexpr int64_t kPieceBytes = int64_t{2} << 20;

// A channel to HOST:PORT. Connects at the first call and again after a loss, with a short back-off. Channels of
// different `purpose` do not share a connection, where bulk data would delay control messages. Without credentials the
// process's are used: ProcessSecurity().
std::shared_ptr<grpc::Channel> NewChannel(const std::string& address, const std::string& purpose,
                                          const Keepalive& keepalive = kClientKeepalive,
                                          const std::shared_ptr<grpc::ChannelCredentials>& credentials = nullptr);

// Sets a deadline on the monotonic clock, so that steps of the wall clock do not end the call.
void SetDeadline(absl::Duration timeout, grpc::ClientContext* context);

}  // namespace waggle
