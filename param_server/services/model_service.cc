#include "param_server/services/model_service.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/reason.h"
#include "common/base/status_macros.h"
#include "common/hub/hub_convert.h"
#include "common/net/channel.h"
#include "common/net/read_reactor.h"
#include "common/net/write_reactor.h"
#include "param_server/models/model_upload.h"

namespace waggle {
namespace {

// Parses a request of a raw method.
template <class Request>
absl::StatusOr<Request> DecodeRequest(const grpc::ByteBuffer& buffer) {
  Message<Request> message;
  WAGGLE_RETURN_IF_ERROR(DecodeMessage(buffer, kMaxHeaderBytes, &message.header, &message.data));
  return std::move(message.header);
}

class PushHandler final : public ReadHandler<v1::PushModelRequest, v1::PushModelResponse> {
 public:
  explicit PushHandler(const FindRun& find) : find_(find) {}

  absl::Status OnMessage(Message<v1::PushModelRequest> message) override { return Count(Take(std::move(message))); }

  absl::StatusOr<v1::PushModelResponse> OnPeerDone() override {
    WAGGLE_RETURN_IF_ERROR(Count(Commit()));
    run_->metrics->Add("models_pushed", 1);
    run_->encoded.Get(run_->models->Newest(model_));  // Frees the messages of the last version.
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
      WAGGLE_ASSIGN_OR_RETURN(run_, find_(header.experiment_id()));
      WAGGLE_ASSIGN_OR_RETURN(ModelSnapshot snapshot, FromProto(header));
      WAGGLE_RETURN_IF_ERROR(CheckEpoch(snapshot));
      if (run_->env_steps != nullptr) {
        snapshot.progress.env_steps = run_->env_steps(snapshot.version);
      }
      model_ = snapshot.model;
      WAGGLE_ASSIGN_OR_RETURN(
          upload_, ModelUpload::Begin(run_->models, std::move(snapshot), header.total_bytes(), header.checksum()));
    }
    return upload_->Append(message.data);
  }

  absl::Status CheckEpoch(const ModelSnapshot& snapshot) const {
    const uint64_t fenced = run_->fenced_epoch == nullptr ? 0 : run_->fenced_epoch();
    if (fenced > 0 && snapshot.version.epoch <= fenced) {
      return WithReason(reasons::kLaterLearner, absl::FailedPreconditionError(absl::StrCat(
                                                    "weights of epoch ", snapshot.version.epoch,
                                                    ", whose learner was dismissed: another learner has its seat")));
    }
    const uint64_t last = run_->last_epoch == nullptr ? snapshot.version.epoch : run_->last_epoch();
    return snapshot.version.epoch <= last
               ? absl::OkStatus()
               : absl::FailedPreconditionError(absl::StrCat("epoch of the weights: got ", snapshot.version.epoch,
                                                            "; wanted that of a learner of this run, at most ", last));
  }

  absl::Status Commit() {
    if (upload_ == nullptr) {
      return absl::InvalidArgumentError("the push ended before its header came");
    }
    return upload_->Commit();
  }

  absl::Status Count(absl::Status status) {
    if (!status.ok() && run_ != nullptr) {
      run_->metrics->Add("pushes_refused", 1);
    }
    return status;
  }

  const FindRun& find_;               // The service's.
  std::shared_ptr<RunServices> run_;  // Null until the header has come.
  std::string model_;
  std::unique_ptr<ModelUpload> upload_;
};

// Sends encoded messages.
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

// Sends the number of the newest version after each change.
class VersionSource final : public WriteSource {
 public:
  VersionSource(std::shared_ptr<RunServices> run, std::string model) : run_(std::move(run)), model_(std::move(model)) {}

  void OnOpen(std::function<void()> wake) override { subscription_ = run_->models->Watch(model_, std::move(wake)); }

  Step Next() override {
    if (run_->closed) {
      return {std::nullopt, ClosedError()};
    }
    const std::shared_ptr<const StoredModel> newest = run_->models->Newest(model_);
    if (newest == nullptr || sent_ == newest->snapshot.version) {
      return {};
    }
    sent_ = newest->snapshot.version;
    return {EncodeMessage(ToProto(*sent_), ByteSlices()), std::nullopt};
  }

 private:
  const std::shared_ptr<RunServices> run_;
  const std::string model_;
  std::optional<ModelVersion> sent_;
  std::unique_ptr<ModelStore::Subscription> subscription_;
};

absl::Status CheckPull(const v1::PullModelRequest& pull) {
  if (!v1::PullModelRequest::Which_IsValid(pull.which())) {
    return absl::InvalidArgumentError(
        absl::StrCat("which: got ", static_cast<int>(pull.which()), "; wanted a value of PullModelRequest.Which"));
  }
  return pull.holder().empty() ? absl::OkStatus() : Annotate(ValidateName(pull.holder()), "holder");
}

WriteReactor* Refuse(absl::Status status) {
  return new WriteReactor(std::make_unique<EndedSource>(std::move(status)));
}

}  // namespace

grpc::ServerReadReactor<grpc::ByteBuffer>* ModelService::Push(grpc::CallbackServerContext* context,
                                                              grpc::ByteBuffer* response) {
  return new ReadReactor<v1::PushModelRequest, v1::PushModelResponse>(context, std::make_unique<PushHandler>(find_),
                                                                      response);
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
  const auto run = find_(pull->experiment_id());
  if (!run.ok()) {
    return Refuse(run.status());
  }
  ModelStore* const models = (*run)->models;
  Metrics* const metrics = (*run)->metrics;
  const bool best = pull->which() == v1::PullModelRequest::WHICH_BEST;
  const std::shared_ptr<const StoredModel> chosen = best ? models->Best(pull->model()) : models->Newest(pull->model());
  if (chosen == nullptr || (pull->has_newer_than() && !(FromProto(pull->newer_than()) < chosen->snapshot.version))) {
    static const auto* const nothing = new std::shared_ptr<const EncodedModels::Pieces>(
        std::make_shared<const EncodedModels::Pieces>(1, EncodeMessage(v1::PullModelResponse(), ByteSlices())));
    return new WriteReactor(std::make_unique<PiecesSource>(*nothing));
  }
  if (!pull->holder().empty()) {
    models->Hold(pull->holder(), chosen);
  }
  metrics->Add("models_pulled", 1);
  metrics->Add("bytes_pulled", static_cast<double>(chosen->snapshot.data.size()));
  return new WriteReactor(std::make_unique<PiecesSource>((*run)->encoded.Get(chosen)));
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
  auto run = find_(watch->experiment_id());
  if (!run.ok()) {
    return Refuse(run.status());
  }
  return new WriteReactor(std::make_unique<VersionSource>(*std::move(run), watch->model()));
}

}  // namespace waggle
