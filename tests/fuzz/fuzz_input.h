#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/net/raw_codec.h"
#include "common/net/stream_handler.h"

namespace waggle::fuzz {

// A fuzzer's bytes, cut into messages: two bytes hold the length of the next one.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }
  uint8_t Byte() {
    if (size_ == 0) {
      return 0;
    }
    --size_;
    return *data_++;
  }
  grpc::ByteBuffer NextMessage() { return Take(NextSize()); }
  std::string NextString() { return TakeString(NextSize()); }
  grpc::ByteBuffer Rest() { return Take(size_); }
  std::string RestString() { return TakeString(size_); }

 private:
  size_t NextSize() {
    const size_t high = Byte();
    return std::min(high * 256 + Byte(), size_);
  }
  std::string TakeString(size_t size) {
    std::string bytes(reinterpret_cast<const char*>(data_), size);
    data_ += size;
    size_ -= size;
    return bytes;
  }
  // In two slices, as messages arrive. Each has exactly its own memory, so that a sanitizer sees overruns.
  grpc::ByteBuffer Take(size_t size) {
    const grpc::Slice slices[] = {grpc::Slice(data_, size / 2), grpc::Slice(data_ + size / 2, size - size / 2)};
    data_ += size;
    size_ -= size;
    return grpc::ByteBuffer(slices, 2);
  }

  const uint8_t* data_;
  size_t size_;
};

// A peer that takes everything at once and remembers only whether the stream has ended.
template <class Outgoing>
class SinkPeer final : public StreamPeer<Outgoing> {
 public:
  void Send(Outgoing /*message*/, std::function<void()> sent) override {
    if (sent != nullptr && !closed_) {
      sent();
    }
  }
  void RequestNext() override {}
  void Close(absl::Status /*status*/) override { closed_ = true; }
  bool closed() const { return closed_; }

 private:
  std::atomic<bool> closed_{false};
};

// Gives the input's messages to a stream's handler, as the transport does.
template <class Request, class Outgoing>
void Feed(Input* input, const SinkPeer<Outgoing>& peer, StreamHandler<Message<Request>, Outgoing>* handler) {
  while (!input->empty() && !peer.closed()) {
    Message<Request> message;
    if (DecodeMessage(input->NextMessage(), kMaxHeaderBytes, &message.header, &message.data).ok()) {
      handler->OnMessage(std::move(message));
    }
  }
  handler->OnPeerDone();
}

}  // namespace waggle::fuzz
