#include "common/replay/replay_convert.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/net/array_spec_convert.h"

namespace waggle {

absl::Status CheckListLength(absl::string_view list, int length, absl::string_view expected_from, int expected) {
  if (length == expected) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(list, " has ", length, " entries; ", expected_from, " has ", expected));
}

v1::InsertBlock ToProto(const InsertBlock& block) {
  v1::InsertBlock proto;
  proto.set_policy_version(block.policy_version);
  const int chunks = static_cast<int>(block.chunks.size());
  proto.mutable_chunk_stream()->Reserve(chunks);
  proto.mutable_chunk_first_row()->Reserve(chunks);
  proto.mutable_chunk_rows()->Reserve(chunks);
  bool any_begins = false;
  for (const ChunkInfo& chunk : block.chunks) {
    proto.add_chunk_stream(chunk.stream);
    proto.add_chunk_first_row(chunk.first_row);
    proto.add_chunk_rows(chunk.rows);
    any_begins = any_begins || chunk.begins;
  }
  if (any_begins) {
    for (const ChunkInfo& chunk : block.chunks) {
      proto.add_chunk_begins(chunk.begins);
    }
  }
  proto.mutable_compressed_bytes()->Add(block.compressed_bytes.begin(), block.compressed_bytes.end());
  if (block.checksum.has_value()) {
    proto.set_checksum(*block.checksum);
  }
  const int items = static_cast<int>(block.items.size());
  proto.mutable_item_stream()->Reserve(items);
  proto.mutable_item_first_row()->Reserve(items);
  proto.mutable_item_rows()->Reserve(items);
  proto.mutable_item_priority()->Reserve(items);
  bool all_in_first_table = true;
  bool any_context = false;
  for (const ItemInfo& item : block.items) {
    proto.add_item_stream(item.stream);
    proto.add_item_first_row(item.first_row);
    proto.add_item_rows(item.rows);
    if (!block.highest_priority) {
      proto.add_item_priority(item.priority);
    }
    all_in_first_table = all_in_first_table && item.table == 0;
    any_context = any_context || item.context_rows != 0;
  }
  for (const ItemInfo& item : block.items) {
    if (!all_in_first_table) {
      proto.add_item_table(item.table);
    }
    if (any_context) {
      proto.add_item_context_rows(item.context_rows);
    }
  }
  return proto;
}

absl::StatusOr<InsertBlock> FromProto(const v1::InsertBlock& proto, ByteSlices data) {
  const int chunks = proto.chunk_stream_size();
  WAGGLE_RETURN_IF_ERROR(CheckListLength("chunk_first_row", proto.chunk_first_row_size(), "chunk_stream", chunks));
  WAGGLE_RETURN_IF_ERROR(CheckListLength("chunk_rows", proto.chunk_rows_size(), "chunk_stream", chunks));
  const int items = proto.item_stream_size();
  WAGGLE_RETURN_IF_ERROR(CheckListLength("item_first_row", proto.item_first_row_size(), "item_stream", items));
  WAGGLE_RETURN_IF_ERROR(CheckListLength("item_rows", proto.item_rows_size(), "item_stream", items));
  const bool any_begins = proto.chunk_begins_size() != 0;
  const bool any_table = proto.item_table_size() != 0;
  const bool any_priority = proto.item_priority_size() != 0;
  const bool any_context = proto.item_context_rows_size() != 0;
  WAGGLE_RETURN_IF_ERROR(
      CheckListLength("chunk_begins", proto.chunk_begins_size(), "chunk_stream", any_begins ? chunks : 0));
  WAGGLE_RETURN_IF_ERROR(CheckListLength("item_table", proto.item_table_size(), "item_stream", any_table ? items : 0));
  WAGGLE_RETURN_IF_ERROR(
      CheckListLength("item_priority", proto.item_priority_size(), "item_stream", any_priority ? items : 0));
  WAGGLE_RETURN_IF_ERROR(
      CheckListLength("item_context_rows", proto.item_context_rows_size(), "item_stream", any_context ? items : 0));
  InsertBlock block;
  block.highest_priority = items > 0 && !any_priority;
  block.compressed_bytes.assign(proto.compressed_bytes().begin(), proto.compressed_bytes().end());
  if (proto.has_checksum()) {
    block.checksum = proto.checksum();
  }
  block.policy_version = proto.policy_version();
  block.data = std::move(data);
  block.chunks.reserve(chunks);
  for (int i = 0; i < chunks; ++i) {
    block.chunks.push_back(
        {proto.chunk_stream(i), proto.chunk_first_row(i), proto.chunk_rows(i), any_begins && proto.chunk_begins(i)});
  }
  block.items.reserve(items);
  for (int i = 0; i < items; ++i) {
    block.items.push_back({any_table ? proto.item_table(i) : 0, proto.item_stream(i), proto.item_first_row(i),
                           proto.item_rows(i), any_priority ? proto.item_priority(i) : 0,
                           any_context ? proto.item_context_rows(i) : 0});
  }
  return block;
}

v1::ColumnCompression::Codec ToProto(Codec codec) {
  return static_cast<v1::ColumnCompression::Codec>(codec);
}

absl::StatusOr<Codec> FromProto(v1::ColumnCompression::Codec codec) {
  if (!v1::ColumnCompression::Codec_IsValid(codec)) {
    return absl::InvalidArgumentError(
        absl::StrCat("compression: got ", static_cast<int>(codec), "; wanted 0 to ", v1::ColumnCompression::Codec_MAX));
  }
  return static_cast<Codec>(codec);
}

v1::SampleOpened ToProto(const BatchLayout& layout) {
  v1::SampleOpened opened;
  opened.set_batch_bytes(layout.total_bytes);
  for (const BatchField& field : layout.fields) {
    v1::FieldLayout* added = opened.add_fields();
    *added->mutable_spec() = ToProto(field.spec);
    added->set_offset(field.offset);
  }
  return opened;
}

absl::Status CheckSameLayout(const v1::SampleOpened& opened, const BatchLayout& layout) {
  const v1::SampleOpened expected = ToProto(layout);
  for (int i = 0; i < expected.fields_size() && i < opened.fields_size(); ++i) {
    WAGGLE_ASSIGN_OR_RETURN(const ArraySpec got, FromProto(opened.fields(i).spec()));
    const BatchField& field = layout.fields[i];
    if (got != field.spec || opened.fields(i).offset() != field.offset) {
      return absl::FailedPreconditionError(absl::StrCat("the server's batches have ", got.DebugString(), " at byte ",
                                                        opened.fields(i).offset(), " where ", field.spec.DebugString(),
                                                        " at byte ", field.offset, " is expected"));
    }
  }
  if (opened.fields_size() != expected.fields_size() || opened.batch_bytes() != expected.batch_bytes()) {
    return absl::FailedPreconditionError(absl::StrCat("the server's batches have ", opened.fields_size(),
                                                      " fields and ", opened.batch_bytes(), " bytes; expected are ",
                                                      expected.fields_size(), " and ", expected.batch_bytes()));
  }
  return absl::OkStatus();
}

}  // namespace waggle
