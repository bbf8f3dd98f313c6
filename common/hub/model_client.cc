#include "common/hub/model_client.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/backoff.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"
#include "common/base/tensor/spare_block.h"
#include "common/hub/hub_convert.h"
#include "common/net/blocking_stream.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"
#include "common/net/retry.h"
#include "waggle/v1/model.pb.h"

namespace waggle {
namespace {

constexpr char kPush[] = "/waggle.v1.ModelService/Push";
constexpr char kPull[] = "/waggle.v1.ModelService/Pull";
constexpr char kWatch[] = "/waggle.v1.ModelService/Watch";
// A server without progress for so long hangs: a piece of 2 MiB takes milliseconds.
constexpr absl::Duration kIdleTimeout = absl::Seconds(10);
// A larger model is refused as a mistake before memory is taken.
constexpr uint64_t kMaxModelBytes = uint64_t{16} << 30;
constexpr absl::Duration kFirstWatchPause = absl::Milliseconds(50);
constexpr absl::Duration kLongestWatchPause = absl::Seconds(2);

// The ports' codes, whatever gRPC's: CANCELLED after a stop only; UNAVAILABLE if the server is away or stopping.
absl::Status PortStatus(const absl::Status& status, const StopToken& stop, absl::string_view what) {
  if (!status.ok() && stop.StopRequested()) {
    return absl::CancelledError(absl::StrCat("stopped while ", what));
  }
  return Annotate(MayPass(status) ? absl::UnavailableError(status.message()) : status, what);
}

class GrpcModelPublisher final : public ModelPublisher {
 public:
  explicit GrpcModelPublisher(const RunAddress& run)
      : channel_(NewChannel(run.hub, "model push")), experiment_id_(run.experiment_id) {}

  absl::Status Publish(const ModelSnapshot& snapshot, const StopToken& stop) override {
    Message<v1::PushModelRequest> message;
    v1::ModelHeader* const header = message.header.mutable_header();
    *header = ToProto(snapshot);
    header->set_total_bytes(snapshot.data.size());
    header->set_checksum(Checksum(snapshot.data));
    header->set_experiment_id(experiment_id_);
    BlockingStream stream(channel_, kPush, kIdleTimeout, stop);
    bool open = true;
    for (const ByteSlice& slice : snapshot.data.slices()) {
      for (size_t sent = 0; open && sent < slice.size;) {
        const size_t size = std::min(slice.size - sent, static_cast<size_t>(kPieceBytes));
        message.data = ByteSlices({slice.data + sent, size, slice.owner});
        open = stream.Write(EncodeMessage(message));
        message.header.clear_header();
        sent += size;
      }
    }
    if (open && message.header.has_header()) {  // No bytes came that it could be sent with.
      open = stream.Write(EncodeMessage(message));
    }
    grpc::ByteBuffer response;
    stream.WritesDone();
    while (stream.Read(&response)) {
    }
    return PortStatus(stream.Finish(), stop, absl::StrCat("publishing model ", snapshot.model));
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const std::string experiment_id_;
};

// Assembles a pull's messages, and checks them.
class Assembly {
 public:
  explicit Assembly(SpareBlock* spare) : spare_(spare) {}

  absl::Status Take(Message<v1::PullModelResponse> message) {
    if (!begun_) {
      begun_ = true;
      if (!message.header.has_header()) {
        return message.data.size() == 0 ? absl::OkStatus() : absl::DataLossError("weights came without a header");
      }
      WAGGLE_RETURN_IF_ERROR(Begin(message.header.header()));
    }
    const size_t wanted = snapshot_.has_value() ? static_cast<size_t>(total_bytes_) - received_ : 0;
    if (message.data.size() > wanted) {
      return absl::DataLossError(
          absl::StrCat(received_ + message.data.size(), " bytes have arrived; wanted ", total_bytes_, " bytes"));
    }
    for (const ByteSlice& slice : message.data.slices()) {
      std::memcpy(bytes_.get() + received_, slice.data, slice.size);
      checksummer_.Update(bytes_.get() + received_, slice.size);
      received_ += slice.size;
    }
    return absl::OkStatus();
  }

  // The received snapshot; nullopt if none is newer.
  absl::StatusOr<std::optional<ModelSnapshot>> Finish() {
    if (!begun_) {
      return absl::DataLossError("the answer holds no message");
    }
    if (!snapshot_.has_value()) {
      return std::optional<ModelSnapshot>();
    }
    if (received_ != total_bytes_) {
      return absl::DataLossError(
          absl::StrCat("only ", received_, " bytes have arrived; wanted ", total_bytes_, " bytes"));
    }
    if (checksummer_.Digest() != checksum_) {
      return absl::DataLossError("the bytes do not have the checksum that was announced");
    }
    snapshot_->data = ByteSlices({bytes_.get(), received_, bytes_});
    return std::move(snapshot_);
  }

 private:
  absl::Status Begin(const v1::ModelHeader& header) {
    WAGGLE_ASSIGN_OR_RETURN(ModelSnapshot snapshot, FromProto(header));
    total_bytes_ = header.total_bytes();
    checksum_ = header.checksum();
    uint64_t sum = 0;  // Cannot overflow: see kMaxArrayBytes and kMaxHeaderBytes.
    for (const ArraySpec& tensor : snapshot.tensors) {
      sum += static_cast<uint64_t>(tensor.NumBytes());
    }
    if (sum != total_bytes_ || total_bytes_ > kMaxModelBytes) {
      return absl::DataLossError(absl::StrCat("the tensors take ", sum, " bytes together and ", total_bytes_,
                                              " were announced; at most ", kMaxModelBytes, " are taken"));
    }
    bytes_ = spare_->Take(total_bytes_);
    snapshot_ = std::move(snapshot);
    return absl::OkStatus();
  }

  SpareBlock* const spare_;
  bool begun_ = false;
  std::optional<ModelSnapshot> snapshot_;
  uint64_t total_bytes_ = 0;
  uint64_t checksum_ = 0;
  std::shared_ptr<char> bytes_;
  size_t received_ = 0;
  Checksummer checksummer_;
};

class GrpcModelSubscriber final : public ModelSubscriber {
 public:
  GrpcModelSubscriber(const RunAddress& run, std::string model, std::string holder)
      : channel_(NewChannel(run.hub, "model pull")),
        experiment_id_(run.experiment_id),
        model_(std::move(model)),
        holder_(std::move(holder)) {}

  absl::StatusOr<std::optional<ModelSnapshot>> PullNewer(std::optional<ModelVersion> version,
                                                         const StopToken& stop) override {
    return PullChecked(version, v1::PullModelRequest::WHICH_NEWEST, stop);
  }

  absl::StatusOr<std::optional<ModelSnapshot>> PullBest(const StopToken& stop) override {
    return PullChecked(std::nullopt, v1::PullModelRequest::WHICH_BEST, stop);
  }

  absl::Status WaitNewer(std::optional<ModelVersion> version, const StopToken& stop) override {
    Backoff backoff(kFirstWatchPause, kLongestWatchPause, Rng(std::random_device()()));
    while (true) {
      const absl::Status status = Watch(version, stop, &backoff);
      if (stop.StopRequested()) {
        return absl::CancelledError("stopped while waiting for newer weights");
      }
      // Nothing is newer while the server is away.
      if (status.ok() || !MayPass(status)) {
        return Annotate(status, absl::StrCat("watching model ", model_));
      }
      stop.WaitFor(backoff.Next());
    }
  }

 private:
  absl::StatusOr<std::optional<ModelSnapshot>> PullChecked(std::optional<ModelVersion> version,
                                                           v1::PullModelRequest::Which which, const StopToken& stop) {
    absl::StatusOr<std::optional<ModelSnapshot>> pulled = Pull(version, which, stop);
    if (pulled.ok() && pulled->has_value()) {
      const ModelSnapshot& snapshot = **pulled;
      if (snapshot.model != model_ || (version.has_value() && !(*version < snapshot.version))) {
        return absl::DataLossError(absl::StrCat("pulling model ", model_, ": the server sent epoch ",
                                                snapshot.version.epoch, ", version ", snapshot.version.version,
                                                " of model ", snapshot.model, ", which was not asked for"));
      }
    } else if (!pulled.ok()) {
      return PortStatus(pulled.status(), stop, absl::StrCat("pulling model ", model_));
    }
    return pulled;
  }

  absl::StatusOr<std::optional<ModelSnapshot>> Pull(std::optional<ModelVersion> version,
                                                    v1::PullModelRequest::Which which, const StopToken& stop) {
    v1::PullModelRequest request;
    request.set_experiment_id(experiment_id_);
    request.set_model(model_);
    request.set_holder(holder_);
    request.set_which(which);
    if (version.has_value()) {
      *request.mutable_newer_than() = ToProto(*version);
    }
    BlockingStream stream(channel_, kPull, kIdleTimeout, stop);
    stream.WriteLast(EncodeMessage(request, ByteSlices()));
    Assembly assembly(&spare_);
    grpc::ByteBuffer buffer;
    while (stream.Read(&buffer)) {
      Message<v1::PullModelResponse> message;
      WAGGLE_RETURN_IF_ERROR(DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data));
      WAGGLE_RETURN_IF_ERROR(assembly.Take(std::move(message)));
    }
    WAGGLE_RETURN_IF_ERROR(stream.Finish());
    return assembly.Finish();
  }

  // Returns OK once there is something newer. A working stream makes the next pause short.
  absl::Status Watch(std::optional<ModelVersion> version, const StopToken& stop, Backoff* backoff) {
    v1::WatchModelRequest request;
    request.set_experiment_id(experiment_id_);
    request.set_model(model_);
    BlockingStream stream(channel_, kWatch, absl::InfiniteDuration(), stop);
    stream.WriteLast(EncodeMessage(request, ByteSlices()));
    grpc::ByteBuffer buffer;
    while (stream.Read(&buffer)) {
      backoff->Reset();
      Message<v1::ModelVersion> message;
      WAGGLE_RETURN_IF_ERROR(DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data));
      if (!version.has_value() || *version < FromProto(message.header)) {
        return absl::OkStatus();
      }
    }
    const absl::Status status = stream.Finish();
    return status.ok() ? absl::UnavailableError("the server ended the watch") : status;
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::string experiment_id_;
  const std::string model_;
  const std::string holder_;
  SpareBlock spare_;
};

}  // namespace

std::unique_ptr<ModelPublisher> NewGrpcModelPublisher(const RunAddress& run) {
  return std::make_unique<GrpcModelPublisher>(run);
}

std::unique_ptr<ModelSubscriber> NewGrpcModelSubscriber(const RunAddress& run, const std::string& model,
                                                        const std::string& holder) {
  return std::make_unique<GrpcModelSubscriber>(run, model, holder);
}

}  // namespace waggle
