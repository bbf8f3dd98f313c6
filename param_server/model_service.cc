#include "param_server/model_service.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/hub_client/hub_convert.h"
#include "common/rpc/channel.h"
#include "common/rpc/read_reactor.h"
#include "common/rpc/write_reactor.h"
#include "param_server/models/model_upload.h"

namespace waggle {
namespace {

// A request that came as raw bytes because its method's answers do.
template <class Request>
absl::StatusOr<Request> DecodeRequest(const grpc::ByteBuffer& buffer) {
  Message<Request> message;
  WAGGLE_RETURN_IF_ERROR(DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data));
  return std::move(message.header);
}

EncodedModels::Pieces Encode(const StoredModel& model) {
  const ByteSlices& data = model.snapshot.data;
  EncodedModels::Pieces pieces;
  Message<v1::PullModelResponse> message;
  *message.header.mutable_header() = ToProto(model.snapshot);
  message.header.mutable_header()->set_total_bytes(data.size());
  message.header.mutable_header()->set_checksum(model.checksum);
  size_t sent = 0;
  do {  // At least once: a model without bytes has a header all the same.
    const size_t size = std::min(data.size() - sent, static_cast<size_t>(kPieceBytes));
    message.data = data.Part(sent, size);
    pieces.push_back(EncodeMessage(message));
    message.header.clear_header();
    sent += size;
  } while (sent < data.size());
  return pieces;
}

class PushHandler final : public ReadHandler<v1::PushModelRequest, v1::PushModelResponse> {
 public:
  PushHandler(ModelStore* models, EncodedModels* encoded, Metrics* metrics, const std::function<uint64_t()>& last_epoch)
      : models_(models), encoded_(encoded), metrics_(metrics), last_epoch_(last_epoch) {}

  absl::Status OnMessage(Message<v1::PushModelRequest> message) override { return Count(Take(std::move(message))); }

  absl::StatusOr<v1::PushModelResponse> OnPeerDone() override {
    WAGGLE_RETURN_IF_ERROR(Count(Commit()));
    metrics_->Add("models_pushed", 1);
    encoded_->Get(models_->Newest(model_));  // Now, so that the messages of the version before go at once.
    return v1::PushModelResponse();
  }

 private:
  absl::Status Take(Message<v1::PushModelRequest> message) {
    if (message.header.has_header() != (upload_ == nullptr)) {
      return absl::InvalidArgumentError(upload_ == nullptr ? "the first message has no header"
                                                           : "a message after the first one has a header");
    }
    if (upload_ == nullptr) {
      const v1::ModelHeader& header = message.header.header();
      WAGGLE_ASSIGN_OR_RETURN(ModelSnapshot snapshot, FromProto(header));
      WAGGLE_RETURN_IF_ERROR(CheckEpoch(snapshot));
      model_ = snapshot.model;
      WAGGLE_ASSIGN_OR_RETURN(
          upload_, ModelUpload::Begin(models_, std::move(snapshot), header.total_bytes(), header.checksum()));
    }
    return upload_->Append(message.data);
  }

  absl::Status CheckEpoch(const ModelSnapshot& snapshot) const {
    const uint64_t last = last_epoch_ == nullptr ? snapshot.version.epoch : last_epoch_();
    return snapshot.version.epoch <= last
               ? absl::OkStatus()
               : absl::FailedPreconditionError(
                     absl::StrCat("weights of epoch ", snapshot.version.epoch,
                                  ", which no learner of this run was given; the largest that was is ", last));
  }

  absl::Status Commit() {
    if (upload_ == nullptr) {
      return absl::InvalidArgumentError("the push ended before its header came");
    }
    return upload_->Commit();
  }

  absl::Status Count(absl::Status status) {
    if (!status.ok()) {
      metrics_->Add("pushes_refused", 1);
    }
    return status;
  }

  ModelStore* const models_;
  EncodedModels* const encoded_;
  Metrics* const metrics_;
  const std::function<uint64_t()>& last_epoch_;  // The service's.
  std::string model_;
  std::unique_ptr<ModelUpload> upload_;
};

// Sends messages that exist already.
class PiecesSource final : public WriteSource {
 public:
  explicit PiecesSource(std::shared_ptr<const EncodedModels::Pieces> pieces) : pieces_(std::move(pieces)) {}

  void OnOpen(std::function<void()> /*wake*/) override {}

  Step Next() override {
    Step step;
    step.message = (*pieces_)[next_++];  // The copy shares the bytes.
    if (next_ == pieces_->size()) {
      step.end = absl::OkStatus();
    }
    return step;
  }

 private:
  const std::shared_ptr<const EncodedModels::Pieces> pieces_;
  size_t next_ = 0;
};

// Sends the newest version's number whenever it has changed since the last time.
class VersionSource final : public WriteSource {
 public:
  VersionSource(ModelStore* models, std::string model) : models_(models), model_(std::move(model)) {}

  void OnOpen(std::function<void()> wake) override { subscription_ = models_->Watch(model_, std::move(wake)); }

  Step Next() override {
    const std::shared_ptr<const StoredModel> newest = models_->Newest(model_);
    if (newest == nullptr || sent_ == newest->snapshot.version) {
      return {};
    }
    sent_ = newest->snapshot.version;
    return {EncodeMessage(ToProto(*sent_), ByteSlices()), std::nullopt};
  }

 private:
  ModelStore* const models_;
  const std::string model_;
  std::optional<ModelVersion> sent_;
  std::unique_ptr<ModelStore::Subscription> subscription_;
};

absl::Status CheckPull(const v1::PullModelRequest& pull) {
  if (!v1::PullModelRequest::Which_IsValid(pull.which())) {
    return absl::InvalidArgumentError(absl::StrCat("which: ", static_cast<int>(pull.which()), " is unknown"));
  }
  return pull.holder().empty() ? absl::OkStatus() : Annotate(ValidateName(pull.holder()), "holder");
}

WriteReactor* Refuse(absl::Status status) {
  return new WriteReactor(std::make_unique<EndedSource>(std::move(status)));
}

}  // namespace

std::shared_ptr<const EncodedModels::Pieces> EncodedModels::Get(const std::shared_ptr<const StoredModel>& model) {
  Entry replaced;  // Destroyed outside the lock.
  MutexLock lock(&mutex_);
  Entry& entry = entries_[model->snapshot.model];
  if (entry.model == model) {
    return entry.pieces;
  }
  auto pieces = std::make_shared<const Pieces>(Encode(*model));
  // A reader that was slow to ask must not bring an old version back.
  if (entry.model == nullptr || entry.model->snapshot.version < model->snapshot.version) {
    replaced = std::exchange(entry, Entry{model, pieces});
  }
  return pieces;
}

grpc::ServerReadReactor<grpc::ByteBuffer>* ModelService::Push(grpc::CallbackServerContext* context,
                                                              grpc::ByteBuffer* response) {
  return new ReadReactor<v1::PushModelRequest, v1::PushModelResponse>(
      context, std::make_unique<PushHandler>(models_, &encoded_, metrics_, last_epoch_), response);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* ModelService::Pull(grpc::CallbackServerContext* /*context*/,
                                                               const grpc::ByteBuffer* request) {
  const absl::StatusOr<v1::PullModelRequest> pull = DecodeRequest<v1::PullModelRequest>(*request);
  if (!pull.ok()) {
    return Refuse(pull.status());
  }
  if (const absl::Status status = CheckPull(*pull); !status.ok()) {
    return Refuse(status);
  }
  const bool best = pull->which() == v1::PullModelRequest::WHICH_BEST;
  const std::shared_ptr<const StoredModel> chosen =
      best ? models_->Best(pull->model()) : models_->Newest(pull->model());
  if (chosen == nullptr || (pull->has_newer_than() && !(FromProto(pull->newer_than()) < chosen->snapshot.version))) {
    static const auto* const nothing = new std::shared_ptr<const EncodedModels::Pieces>(
        std::make_shared<const EncodedModels::Pieces>(1, EncodeMessage(v1::PullModelResponse(), ByteSlices())));
    return new WriteReactor(std::make_unique<PiecesSource>(*nothing));
  }
  if (!pull->holder().empty()) {
    models_->Hold(pull->holder(), chosen);
  }
  metrics_->Add("models_pulled", 1);
  metrics_->Add("bytes_pulled", static_cast<double>(chosen->snapshot.data.size()));
  return new WriteReactor(std::make_unique<PiecesSource>(encoded_.Get(chosen)));
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* ModelService::Watch(grpc::CallbackServerContext* /*context*/,
                                                                const grpc::ByteBuffer* request) {
  const absl::StatusOr<v1::WatchModelRequest> watch = DecodeRequest<v1::WatchModelRequest>(*request);
  if (!watch.ok()) {
    return Refuse(watch.status());
  }
  if (const absl::Status status = ValidateName(watch->model()); !status.ok()) {
    return Refuse(status);
  }
  return new WriteReactor(std::make_unique<VersionSource>(models_, watch->model()));
}

}  // namespace waggle
