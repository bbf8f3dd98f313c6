#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "replay_server/storage/journal.h"
#include "replay_server/store/replay_store.h"
#include "waggle/v1/replay.pb.h"

// What Describe tells of a server, and what of other calls has a form of its own on the wire.

namespace waggle {

void Fill(const Table& table, v1::TableInfo* proto);
v1::StorageInfo ToProto(const DiskPicture& disk);

v1::CheckpointResponse ToProto(const CheckpointInfo& info);

// Nothing where the request does not say. INVALID_ARGUMENT for a number that is no policy.
absl::StatusOr<std::optional<SavedPolicy>> FromProto(v1::SavedPolicy policy);

}  // namespace waggle
