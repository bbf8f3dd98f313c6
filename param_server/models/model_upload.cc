#include "param_server/models/model_upload.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {

absl::StatusOr<std::unique_ptr<ModelUpload>> ModelUpload::Begin(ModelStore* store, ModelSnapshot header,
                                                                uint64_t total_bytes, uint64_t checksum) {
  WAGGLE_RETURN_IF_ERROR(ValidateModel(header, total_bytes));
  WAGGLE_RETURN_IF_ERROR(store->Reserve(header, static_cast<int64_t>(total_bytes)));
  return std::unique_ptr<ModelUpload>(
      new ModelUpload(store, std::move(header), store->spare_.Take(total_bytes), total_bytes, checksum));
}

ModelUpload::ModelUpload(ModelStore* store, ModelSnapshot header, std::shared_ptr<char> bytes, uint64_t total_bytes,
                         uint64_t checksum)
    : store_(store),
      total_bytes_(total_bytes),
      checksum_(checksum),
      header_(std::move(header)),
      bytes_(std::move(bytes)),
      reserved_(static_cast<int64_t>(total_bytes)) {}

ModelUpload::~ModelUpload() {
  if (reserved_ > 0) {
    store_->Release(reserved_);
  }
}

absl::Status ModelUpload::Append(const ByteSlices& piece) {
  if (piece.size() > total_bytes_ - received_) {
    return absl::InvalidArgumentError(absl::StrCat("model ", header_.model, ": ", received_ + piece.size(),
                                                   " bytes have come where ", total_bytes_, " were announced"));
  }
  for (const ByteSlice& slice : piece.slices()) {
    char* const destination = bytes_.get() + received_;
    std::memcpy(destination, slice.data, slice.size);
    checksummer_.Update(destination, slice.size);  // Covers the copy, which is published.
    received_ += slice.size;
  }
  return absl::OkStatus();
}

absl::Status ModelUpload::Commit() {
  if (received_ != total_bytes_) {
    return absl::InvalidArgumentError(absl::StrCat("model ", header_.model, ": only ", received_,
                                                   " bytes have come where ", total_bytes_, " were announced"));
  }
  if (const uint64_t digest = checksummer_.Digest(); digest != checksum_) {
    return absl::DataLossError(absl::StrCat("model ", header_.model, ": the bytes have the checksum ",
                                            absl::Hex(digest, absl::kZeroPad16), "; announced was ",
                                            absl::Hex(checksum_, absl::kZeroPad16)));
  }
  auto model = std::make_shared<StoredModel>();
  model->snapshot = std::move(header_);
  model->snapshot.data = ByteSlices({bytes_.get(), static_cast<size_t>(total_bytes_), bytes_});
  model->checksum = checksum_;
  return store_->PublishChecked(std::move(model), std::exchange(reserved_, 0));
}

}  // namespace waggle
