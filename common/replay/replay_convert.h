#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/tensor/byte_slices.h"
#include "common/config/table/batch_layout.h"
#include "common/replay/ports/replay.h"
#include "waggle/v1/replay.pb.h"

// Converts replay's messages to and from the types of its port. FromProto returns INVALID_ARGUMENT for a bad message.

namespace waggle {

// INVALID_ARGUMENT unless a list has as many entries as the list that it describes.
absl::Status CheckListLength(absl::string_view list, int length, absl::string_view expected_from, int expected);

// Leaves out the rows' bytes and the sequence number.
v1::InsertBlock ToProto(const InsertBlock& block);
// Checks only the lengths of the lists; the table checks their numbers.
absl::StatusOr<InsertBlock> FromProto(const v1::InsertBlock& proto, ByteSlices data);

// Unspecified is kNone.
v1::ColumnCompression::Codec ToProto(Codec codec);
absl::StatusOr<Codec> FromProto(v1::ColumnCompression::Codec codec);

v1::SampleOpened ToProto(const BatchLayout& layout);
// FAILED_PRECONDITION, with both layouts, if they differ.
absl::Status CheckSameLayout(const v1::SampleOpened& opened, const BatchLayout& layout);

}  // namespace waggle
