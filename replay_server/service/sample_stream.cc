#include "replay_server/service/sample_stream.h"

#include <utility>

#include "absl/status/statusor.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/replay/replay_convert.h"
#include "replay_server/base/refusal_reasons.h"

namespace waggle {

SampleStream::SampleStream(ReplayStore* store, SampleResources resources, SampleStreamOptions options, std::string peer)
    : store_(store),
      peer_(std::move(peer)),
      batches_(std::make_shared<SampleBatches>(std::move(resources), std::move(options))) {}

SampleStream::~SampleStream() {
  batches_->End();
}

void SampleStream::OnOpen(std::shared_ptr<StreamPeer<Message<v1::SampleResponse>>> peer) {
  batches_->Attach(std::move(peer));
}

void SampleStream::OnMessage(Message<v1::SampleRequest> message) {
  const bool opened = batches_->opened();
  absl::Status status;
  if (message.data.size() > 0) {
    status = Refusal(absl::StatusCode::kInvalidArgument, reasons::kUnexpectedMessage, "a sampler sends no data");
  } else if (message.header.has_open() == opened) {
    status = Refusal(absl::StatusCode::kInvalidArgument, reasons::kUnexpectedMessage,
                     opened ? "the stream is open already" : "the first message must be `open`");
  } else if (!opened) {
    status = Open(message.header.open());
  }
  if (status.ok()) {
    status = batches_->Add(message.header);
  }
  if (!status.ok()) {
    batches_->Fail(std::move(status));
    return;
  }
  batches_->RequestNext();
}

absl::Status SampleStream::Open(const v1::SampleOpen& open) {
  if (!open.sampler_id().empty()) {
    WAGGLE_RETURN_IF_ERROR(WithReason(reasons::kBadName, Annotate(ValidateName(open.sampler_id()), "sampler_id")));
  }
  WAGGLE_ASSIGN_OR_RETURN(std::shared_ptr<Table> table, store_->FindTable(open.table()));
  if (open.batch_size() == 0) {
    return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadRequest, "batch_size: got 0; wanted at least 1");
  }
  if (open.batch_size() > batches_->options().max_batch_items) {
    return Refusal(absl::StatusCode::kResourceExhausted, reasons::kBatchTooLarge, "batch_size: got ", open.batch_size(),
                   "; wanted at most ", batches_->options().max_batch_items);
  }
  WAGGLE_ASSIGN_OR_RETURN(BatchLayout layout,
                          WithReason(reasons::kBatchTooLarge, MakeBatchLayout(table->created(), open.batch_size(),
                                                                              batches_->options().max_batch_bytes)));
  WAGGLE_ASSIGN_OR_RETURN(const Codec codec, WithReason(reasons::kBadRequest, FromProto(open.compression())));
  batches_->Opened(std::move(table), std::make_shared<const BatchLayout>(std::move(layout)), open.batch_size(), codec,
                   open.sampler_id().empty() ? peer_ : open.sampler_id());
  return absl::OkStatus();
}

void SampleStream::OnPeerDone() {
  batches_->PeerDone();
}

}  // namespace waggle
