#include "common/hub/inference/remote_policy.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/log.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/buffer_pool.h"
#include "common/base/threads/mutex.h"
#include "common/base/threads/wait_clock.h"
#include "common/hub/inference/act_layout.h"
#include "common/net/blocking_stream.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "common/net/retry.h"
#include "waggle/v1/inference.pb.h"

namespace waggle {
namespace {

constexpr char kMethod[] = "/waggle.v1.InferenceService/Act";
// Longer than any batch takes. First answers wait for the learner's weights: they may time out and are retried.
constexpr absl::Duration kIdleTimeout = absl::Seconds(30);
// A request's bytes may still be read briefly after its answer.
constexpr size_t kKeptBuffers = 2;

class RemotePolicy final : public Policy {
 public:
  RemotePolicy(RemotePolicyOptions options, const StopToken& stop)
      : options_(std::move(options)),
        layout_(options_.environment, options_.columns, options_.private_columns),
        stop_(stop),
        backoff_(NewReconnectBackoff()),
        buffers_(static_cast<size_t>(options_.lanes) * layout_.RequestBytes(), kKeptBuffers) {}

  std::vector<ArraySpec> columns() const override { return options_.columns; }
  std::vector<std::string> private_columns() const override { return options_.private_columns; }

  absl::Status Act(const PolicyInput& input, ActMode mode, PolicyOutput* output) override {
    if (mode != ActMode::kExplore) {
      return absl::UnimplementedError("actions that are computed elsewhere explore");
    }
    {
      MutexLock lock(&mutex_);
      waits_.Begin();
    }
    const absl::Status status = Ask(input, output);
    MutexLock lock(&mutex_);
    waits_.End();
    return status;
  }

  absl::Status LoadWeights(const ModelSnapshot& /*snapshot*/) override {
    return absl::FailedPreconditionError("this policy is computed elsewhere, and takes no weights");
  }

  std::optional<ModelVersion> acted_version() const override { return version_; }

  Waits waits() const override {
    MutexLock lock(&mutex_);
    return {waits_.total(), waits_.waiting()};
  }

 private:
  absl::Status Ask(const PolicyInput& input, PolicyOutput* output) {
    const grpc::ByteBuffer request = Encode(input);
    for (bool away = false;;) {
      const absl::StatusOr<Message<v1::ActResponse>> response = Exchange(request);
      if (response.ok()) {
        backoff_.Reset();
        if (away) {
          LogInfo("actions are computed by ", address_);
        }
        return Take(*response, input.rows(), output);
      }
      stream_.reset();
      if (stop_.StopRequested()) {
        return absl::CancelledError("stopped while waiting for actions");
      }
      if (!MayPass(response.status())) {
        return Annotate(response.status(), "the learner's inference");
      }
      if (!std::exchange(away, true)) {
        LogInfo("no learner computes actions for now: ", response.status().message());
      }
      stop_.WaitFor(backoff_.Next());
    }
  }

  grpc::ByteBuffer Encode(const PolicyInput& input) {
    Message<v1::ActRequest> request;
    request.header.mutable_lanes()->Reserve(static_cast<int>(input.rows()));
    for (const int64_t slot : input.slots) {
      request.header.add_lanes(static_cast<uint32_t>(slot));
    }
    const auto rows = static_cast<size_t>(input.rows());
    std::shared_ptr<char> bytes = buffers_.Take();
    std::memcpy(bytes.get(), input.first, rows);
    char* at = bytes.get() + rows;
    for (size_t i = 0; i < layout_.observations.size(); ++i) {
      const size_t size = rows * layout_.observations[i];
      std::memcpy(at, input.observations[i], size);
      at += size;
    }
    ByteSlice slice;
    slice.data = bytes.get();
    slice.size = static_cast<size_t>(at - bytes.get());
    slice.owner = std::move(bytes);
    request.data.Append(std::move(slice));
    return EncodeMessage(request);
  }

  absl::StatusOr<Message<v1::ActResponse>> Exchange(const grpc::ByteBuffer& request) {
    WAGGLE_RETURN_IF_ERROR(Connect());
    grpc::ByteBuffer received;
    if (!stream_->Write(request) || !stream_->Read(&received)) {
      const absl::Status ended = stream_->Finish();
      return ended.ok() ? absl::UnavailableError("the learner has ended the stream") : ended;
    }
    Message<v1::ActResponse> response;
    WAGGLE_RETURN_IF_ERROR(DecodeMessage(received, kMaxHeaderBytes, &response.header, &response.data));
    return response;
  }

  absl::Status Connect() {
    if (stream_ != nullptr) {
      return absl::OkStatus();
    }
    const std::string address = options_.address();
    if (address.empty()) {
      return absl::UnavailableError("no learner has joined that computes actions");
    }
    if (channel_ == nullptr || address != address_) {
      channel_ = NewChannel(address, "inference");
      address_ = address;
    }
    stream_ = std::make_unique<BlockingStream>(channel_, kMethod, kIdleTimeout, stop_);
    Message<v1::ActRequest> first;
    v1::ActRequest::Open& open = *first.header.mutable_open();
    open.set_worker_id(options_.worker_id);
    open.set_index(static_cast<uint32_t>(options_.index));
    open.set_lanes(static_cast<uint32_t>(options_.lanes));
    open.set_network_hash(options_.network_hash);
    open.set_request_row_bytes(static_cast<uint32_t>(layout_.RequestBytes()));
    open.set_response_row_bytes(static_cast<uint32_t>(layout_.ResponseBytes()));
    if (stream_->Write(EncodeMessage(first))) {
      return absl::OkStatus();
    }
    const absl::Status ended = stream_->Finish();
    return ended.ok() ? absl::UnavailableError("the learner has ended the stream") : ended;
  }

  absl::Status Take(const Message<v1::ActResponse>& response, int64_t rows, PolicyOutput* output) {
    const auto count = static_cast<size_t>(rows);
    if (response.data.size() != count * layout_.ResponseBytes()) {
      return absl::InternalError(absl::StrCat("the learner answered ", rows, " rows with ", response.data.size(),
                                              " bytes; wanted ", count * layout_.ResponseBytes()));
    }
    const std::shared_ptr<const char> bytes = InOneRun(response.data);
    const char* at = bytes.get();
    const auto copy = [&at](void* to, size_t size) {
      std::memcpy(to, at, size);
      at += size;
    };
    for (size_t i = 0; i < layout_.actions.size(); ++i) {
      copy(output->actions[i], count * layout_.actions[i]);
    }
    for (size_t i = 0; i < layout_.columns.size(); ++i) {
      copy(output->columns[i], count * layout_.columns[i]);
    }
    if (layout_.private_values > 0 && output->private_values != nullptr) {
      copy(output->private_values, count * layout_.private_values * sizeof(float));
    }
    version_ = ModelVersion{response.header.version().epoch(), response.header.version().version()};
    return absl::OkStatus();
  }

  const RemotePolicyOptions options_;
  const ActLayout layout_;
  const StopToken stop_;
  Backoff backoff_;
  BufferPool buffers_;
  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<BlockingStream> stream_;  // Null if it must be opened.
  std::optional<ModelVersion> version_;
  mutable Mutex mutex_;
  WaitClock waits_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Policy> NewRemotePolicy(RemotePolicyOptions options, const StopToken& stop) {
  return std::make_unique<RemotePolicy>(std::move(options), stop);
}

}  // namespace waggle
