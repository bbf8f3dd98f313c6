#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "common/net/status_convert.h"
#include "common/net/stream_core.h"

namespace waggle {

// Called with the error that ends a stream at the server, before the peer learns it. Not called if the peer has gone.
using StreamRefused = std::function<void(const absl::Status&)>;

// The base of all server reactors over gRPC's kinds (`Base`). Deletes itself in OnDone.
template <class Base>
class ServerReactor : public Base, public StreamOperations {
 public:
  void OnWriteDone(bool ok) override { core_->WriteEnded(ok); }
  void OnCancel() override { core_->PeerLeft(absl::CancelledError("the stream was cancelled")); }
  void OnDone() override {
    core_->Detach().IgnoreError();  // The peer has it.
    delete this;
  }

 protected:
  ServerReactor(grpc::CallbackServerContext* context, StreamRefused refused)
      : context_(context),
        refused_(std::move(refused)),
        core_(std::make_shared<StreamCore>(StreamCore::Side::kServer, this)) {}

  const std::shared_ptr<StreamCore>& core() const { return core_; }

 private:
  void Write(const grpc::ByteBuffer* message, bool last) override {
    last ? Base::StartWriteAndFinish(message, grpc::WriteOptions(), grpc::Status::OK) : Base::StartWrite(message);
  }
  void Cancel() override { context_->TryCancel(); }
  void Finish(const absl::Status& status, bool peer_left) override {
    if (refused_ != nullptr && !status.ok() && !peer_left) {
      refused_(status);
    }
    Base::Finish(ToGrpcStatus(status));
  }

  grpc::CallbackServerContext* const context_;  // Lives as long as the reactor.
  const StreamRefused refused_;
  const std::shared_ptr<StreamCore> core_;
};

}  // namespace waggle
