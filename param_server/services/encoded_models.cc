#include "param_server/services/encoded_models.h"

#include <algorithm>
#include <utility>

#include "common/hub/hub_convert.h"
#include "common/net/channel.h"
#include "common/net/raw_codec.h"

namespace waggle {
namespace {

EncodedModels::Pieces Encode(const StoredModel& model) {
  const ByteSlices& data = model.snapshot.data;
  EncodedModels::Pieces pieces;
  Message<v1::PullModelResponse> message;
  *message.header.mutable_header() = ToProto(model.snapshot);
  message.header.mutable_header()->set_total_bytes(data.size());
  message.header.mutable_header()->set_checksum(model.checksum);
  size_t sent = 0;
  do {  // At least once: a model without bytes has a header too.
    const size_t size = std::min(data.size() - sent, static_cast<size_t>(kPieceBytes));
    message.data = data.Part(sent, size);
    pieces.push_back(EncodeMessage(message));
    message.header.clear_header();
    sent += size;
  } while (sent < data.size());
  return pieces;
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
  // A slow reader must not replace a newer version.
  if (entry.model == nullptr || entry.model->snapshot.version < model->snapshot.version) {
    replaced = std::exchange(entry, Entry{model, pieces});
  }
  return pieces;
}

}  // namespace waggle
