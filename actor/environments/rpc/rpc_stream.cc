#include "actor/environments/rpc/rpc_stream.h"

#include <grpc/support/time.h>

#include "common/net/status_convert.h"

namespace waggle {

RpcStream::RpcStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                     const CallMetadata& metadata, grpc::CompletionQueue* queue, void* owner)
    : owner_(owner) {
  for (const auto& [key, value] : metadata) {
    context_.AddMetadata(key, value);
  }
  context_.set_initial_metadata_corked(true);
  call_ = grpc::GenericStub(channel).PrepareCall(&context_, method, queue);
  call_->StartCall(nullptr);  // The call's start is sent with its first message and has no event.
}

void RpcStream::Write(grpc::ByteBuffer message) {
  if (broken_ || done_) {
    return;
  }
  outbox_.push_back(std::move(message));
  if (!writing_) {
    WriteNext();
  }
  if (!begun_) {
    begun_ = true;
    ReadNext();
  }
}

void RpcStream::WritesDone() {
  done_ = true;
  if (begun_ && !writing_ && !broken_) {
    WriteNext();
  }
}

void RpcStream::WriteNext() {
  if (!outbox_.empty()) {
    writing_ = true;
    call_->Write(outbox_.front(), &write_);
  } else if (done_ && !half_closed_) {
    writing_ = half_closed_ = true;
    call_->WritesDone(&write_);
  }
}

void RpcStream::ReadNext() {
  incoming_.Clear();
  call_->Read(&incoming_, &read_);
}

RpcStream::Event RpcStream::Take(const Operation& operation, bool ok) {
  switch (operation.kind) {
    case Operation::Kind::kRead:
      if (ok) {
        return Event::kMessage;
      }
      broken_ = true;
      call_->Finish(&grpc_status_, &finish_);
      return Event::kNothing;
    case Operation::Kind::kWrite:
      writing_ = false;
      if (!half_closed_) {
        outbox_.pop_front();
      }
      broken_ = broken_ || !ok;  // The read under way will give the error.
      if (!broken_) {
        WriteNext();
      }
      return Event::kNothing;
    case Operation::Kind::kFinish:
      ended_ = true;
      status_ = FromGrpcStatus(grpc_status_);
      return Event::kEnded;
  }
  return Event::kNothing;
}

std::optional<RpcEvent> NextEvent(grpc::CompletionQueue* queue, absl::Duration timeout) {
  const gpr_timespec until = timeout <= absl::ZeroDuration()
                                 ? gpr_inf_past(GPR_CLOCK_MONOTONIC)
                                 : gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                                gpr_time_from_nanos(absl::ToInt64Nanoseconds(timeout), GPR_TIMESPAN));
  void* tag = nullptr;
  bool ok = false;
  if (queue->AsyncNext(&tag, &ok, until) != grpc::CompletionQueue::GOT_EVENT) {
    return std::nullopt;
  }
  return RpcEvent{static_cast<const RpcStream::Operation*>(tag), ok};
}

}  // namespace waggle
