#include "common/net/client_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>

#include "common/net/call_trace.h"
#include "common/net/status_convert.h"

namespace waggle {
namespace {

class ClientReactor final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                            public StreamOperations {
 public:
  ClientReactor(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                std::unique_ptr<RawClientStreamHandler> handler)
      : handler_(std::move(handler)), core_(std::make_shared<StreamCore>(StreamCore::Side::kClient, this)) {
    AddTrace(&context_);
    grpc::GenericStub(channel).PrepareBidiStreamingCall(&context_, method, grpc::StubOptions(), this);
    AddHold();  // Reads and writes begin outside the reactions too. Without a hold OnDone could come before them.
    handler_->OnOpen(core_);
    core_->RequestNext();
    StartCall();
  }

  void OnReadDone(bool ok) override {
    core_->ReadEnded(ok, [this](grpc::ByteBuffer* message) {
      if (message == nullptr) {
        handler_->OnPeerDone();
        return;
      }
      grpc::ByteBuffer taken;
      taken.Swap(message);
      handler_->OnMessage(std::move(taken));
    });
  }
  void OnWriteDone(bool ok) override { core_->WriteEnded(ok); }
  void OnDone(const grpc::Status& status) override {
    absl::Status own = core_->Detach();
    handler_->OnClosed(own.ok() ? FromGrpcStatus(status) : std::move(own));
    delete this;
  }

 private:
  void Read(grpc::ByteBuffer* message) override { StartRead(message); }
  void Write(const grpc::ByteBuffer* message, bool /*last*/) override { StartWrite(message); }
  void Cancel() override { context_.TryCancel(); }
  void HalfClose() override { StartWritesDone(); }
  void Release() override { RemoveHold(); }

  grpc::ClientContext context_;
  const std::unique_ptr<RawClientStreamHandler> handler_;
  const std::shared_ptr<StreamCore> core_;
};

}  // namespace

void OpenRawClientStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                         std::unique_ptr<RawClientStreamHandler> handler) {
  new ClientReactor(channel, method, std::move(handler));  // Deletes itself in OnDone.
}

}  // namespace waggle
