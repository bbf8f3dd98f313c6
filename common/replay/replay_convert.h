#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/tensor/byte_slices.h"
#include "common/config/table/batch_layout.h"
#include "common/replay/ports/replay.h"
#include "waggle/v1/replay.pb.h"

// Replay's messages to and from the types of its port, for the server and for its clients. What comes from a message is
// checked; errors are INVALID_ARGUMENT and say what was wrong.

namespace waggle {

// INVALID_ARGUMENT unless a list has as many entries as the list whose entries it is about.
absl::Status CheckListLength(absl::string_view list, int length, absl::string_view expected_from, int expected);

// Without the rows' bytes and the sequence number.
v1::InsertBlock ToProto(const InsertBlock& block);
// The lists of each of the two groups have one length; whether the numbers make sense is for the table to say.
absl::StatusOr<InsertBlock> FromProto(const v1::InsertBlock& proto, ByteSlices data);

// Unspecified is kNone.
v1::ColumnCompression::Codec ToProto(Codec codec);
absl::StatusOr<Codec> FromProto(v1::ColumnCompression::Codec codec);

v1::SampleOpened ToProto(const BatchLayout& layout);
// FAILED_PRECONDITION, with both, unless the message describes just this layout.
absl::Status CheckSameLayout(const v1::SampleOpened& opened, const BatchLayout& layout);

}  // namespace waggle
