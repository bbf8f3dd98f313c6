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
// The size of the pieces of bulk data: larger ones gain little and cost memory on both sides.
inline constexpr int64_t kPieceBytes = int64_t{2} << 20;

// A channel to HOST:PORT. Connects when first used and again after a loss, with a short back-off. Channels with
// different `purpose` do not share a connection: bulk data would hold up control messages behind it. Without
// credentials the channel is not encrypted.
std::shared_ptr<grpc::Channel> NewChannel(const std::string& address, const std::string& purpose,
                                          const Keepalive& keepalive = kClientKeepalive,
                                          const std::shared_ptr<grpc::ChannelCredentials>& credentials = nullptr);

// Gives a call its deadline, on the monotonic clock: a step of the wall clock must not end it.
void SetDeadline(absl::Duration timeout, grpc::ClientContext* context);

}  // namespace waggle
