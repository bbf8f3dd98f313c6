#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

#include "absl/status/status.h"
#include "common/base/tensor/byte_slices.h"
#include "common/net/message.h"

// Encodes and decodes messages with bulk bytes (common/net/message.h) without copying these. The bytes on the wire are
// the ordinary protobuf encoding of the message, its `data` field last, so any protobuf client can talk to us. Reading
// and writing the field by hand saves the copies that generated code makes.

namespace waggle {

inline constexpr int kDataFieldNumber = 15;

// Shares the bytes of `data`, which must not change while the buffer lives.
grpc::ByteBuffer EncodeMessage(const google::protobuf::MessageLite& header, const ByteSlices& data);

// `data` shares the buffer's bytes. INVALID_ARGUMENT for bytes of another message; RESOURCE_EXHAUSTED for a header (all
// fields but data) above `max_header_bytes`; both with a reason. Allocates no more than the buffer's size.
absl::Status DecodeMessage(const grpc::ByteBuffer& buffer, size_t max_header_bytes,
                           google::protobuf::MessageLite* header, ByteSlices* data);

template <class Header>
grpc::ByteBuffer EncodeMessage(const Message<Header>& message) {
  return EncodeMessage(message.header, message.data);
}

// A header has metadata of at most some ten thousand items. This is far more than an honest peer sends.
inline constexpr size_t kMaxHeaderBytes = size_t{8} << 20;

}  // namespace waggle
