#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/api/batch_layout.h"
#include "common/api/replay.h"
#include "common/api/table_config.h"
#include "common/tensor/byte_slices.h"
#include "waggle/v1/replay.pb.h"

// Replay's messages to and from the types of its port, for the server and for its clients. What comes from a message is
// checked; errors are INVALID_ARGUMENT and say what was wrong.

namespace waggle {

v1::TableConfig ToProto(const TableConfig& config);
// What comes out is valid (TableConfig::Validate).
absl::StatusOr<TableConfig> FromProto(const v1::TableConfig& proto);

// Without the rows' bytes and the sequence number.
v1::InsertBlock ToProto(const InsertBlock& block);
// The lists of each of the two groups have one length; whether the numbers make sense is for the table to say.
absl::StatusOr<InsertBlock> FromProto(const v1::InsertBlock& proto, ByteSlices data);

v1::SampleOpened ToProto(const BatchLayout& layout);
// FAILED_PRECONDITION, with both, unless the message describes just this layout.
absl::Status CheckSameLayout(const v1::SampleOpened& opened, const BatchLayout& layout);

}  // namespace waggle
