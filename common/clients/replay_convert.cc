#include "common/clients/replay_convert.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/rpc/array_spec_convert.h"

namespace waggle {
namespace {

v1::SamplerConfig::Kind ToProto(SamplerConfig::Kind kind) {
  switch (kind) {
    case SamplerConfig::Kind::kUniform:
      return v1::SamplerConfig::KIND_UNIFORM;
    case SamplerConfig::Kind::kPrioritized:
      return v1::SamplerConfig::KIND_PRIORITIZED;
    case SamplerConfig::Kind::kFifo:
      return v1::SamplerConfig::KIND_FIFO;
  }
  return v1::SamplerConfig::KIND_UNSPECIFIED;
}

absl::StatusOr<SamplerConfig::Kind> FromProto(v1::SamplerConfig::Kind kind) {
  switch (kind) {
    case v1::SamplerConfig::KIND_UNIFORM:
      return SamplerConfig::Kind::kUniform;
    case v1::SamplerConfig::KIND_PRIORITIZED:
      return SamplerConfig::Kind::kPrioritized;
    case v1::SamplerConfig::KIND_FIFO:
      return SamplerConfig::Kind::kFifo;
    default:
      return absl::InvalidArgumentError(absl::StrCat("sampler: ", static_cast<int>(kind), " is no kind of sampler"));
  }
}

v1::ViewField::Rows ToProto(ViewField::Rows rows) {
  switch (rows) {
    case ViewField::Rows::kFirst:
      return v1::ViewField::ROWS_FIRST;
    case ViewField::Rows::kLast:
      return v1::ViewField::ROWS_LAST;
    case ViewField::Rows::kAll:
      return v1::ViewField::ROWS_ALL;
  }
  return v1::ViewField::ROWS_UNSPECIFIED;
}

absl::StatusOr<ViewField::Rows> FromProto(v1::ViewField::Rows rows) {
  switch (rows) {
    case v1::ViewField::ROWS_FIRST:
      return ViewField::Rows::kFirst;
    case v1::ViewField::ROWS_LAST:
      return ViewField::Rows::kLast;
    case v1::ViewField::ROWS_ALL:
      return ViewField::Rows::kAll;
    default:
      return absl::InvalidArgumentError(absl::StrCat("view: ", static_cast<int>(rows), " is no choice of rows"));
  }
}

absl::Status CheckLength(absl::string_view list, int length, absl::string_view expected_from, int expected) {
  if (length == expected) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(list, " has ", length, " entries; ", expected_from, " has ", expected));
}

}  // namespace

v1::TableConfig ToProto(const TableConfig& config) {
  v1::TableConfig proto;
  proto.set_name(config.name);
  for (const ArraySpec& column : config.signature) {
    *proto.add_signature() = ToProto(column);
  }
  for (const ViewField& field : config.view) {
    v1::ViewField* added = proto.add_view();
    added->set_name(field.name);
    added->set_column(field.column);
    added->set_rows(ToProto(field.rows));
  }
  proto.mutable_sampler()->set_kind(ToProto(config.sampler.kind));
  proto.mutable_sampler()->set_priority_exponent(config.sampler.priority_exponent);
  proto.mutable_remover()->set_kind(v1::RemoverConfig::KIND_FIFO);
  proto.mutable_rate_limiter()->set_samples_per_insert(config.rate_limiter.samples_per_insert);
  proto.mutable_rate_limiter()->set_min_items(config.rate_limiter.min_items);
  proto.mutable_rate_limiter()->set_error_buffer(config.rate_limiter.error_buffer);
  proto.set_max_items(config.max_items);
  proto.set_max_bytes(config.max_bytes);
  proto.set_max_times_sampled(config.max_times_sampled);
  proto.set_max_window(config.max_window);
  return proto;
}

absl::StatusOr<TableConfig> FromProto(const v1::TableConfig& proto) {
  TableConfig config;
  config.name = proto.name();
  WAGGLE_ASSIGN_OR_RETURN(config.signature, FromProto(proto.signature()));
  for (const v1::ViewField& field : proto.view()) {
    WAGGLE_ASSIGN_OR_RETURN(const ViewField::Rows rows, FromProto(field.rows()));
    config.view.push_back({field.name(), field.column(), rows});
  }
  WAGGLE_ASSIGN_OR_RETURN(config.sampler.kind, FromProto(proto.sampler().kind()));
  config.sampler.priority_exponent = proto.sampler().priority_exponent();
  if (proto.remover().kind() != v1::RemoverConfig::KIND_FIFO) {
    return absl::InvalidArgumentError(
        absl::StrCat("remover: ", static_cast<int>(proto.remover().kind()), " is no kind of remover"));
  }
  config.rate_limiter.samples_per_insert = proto.rate_limiter().samples_per_insert();
  config.rate_limiter.min_items = proto.rate_limiter().min_items();
  config.rate_limiter.error_buffer = proto.rate_limiter().error_buffer();
  config.max_items = proto.max_items();
  config.max_bytes = proto.max_bytes();
  config.max_times_sampled = proto.max_times_sampled();
  config.max_window = proto.max_window();
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  return config;
}

v1::InsertBlock ToProto(const InsertBlock& block) {
  v1::InsertBlock proto;
  proto.set_policy_version(block.policy_version);
  const int chunks = static_cast<int>(block.chunks.size());
  proto.mutable_chunk_stream()->Reserve(chunks);
  proto.mutable_chunk_first_row()->Reserve(chunks);
  proto.mutable_chunk_rows()->Reserve(chunks);
  for (const ChunkInfo& chunk : block.chunks) {
    proto.add_chunk_stream(chunk.stream);
    proto.add_chunk_first_row(chunk.first_row);
    proto.add_chunk_rows(chunk.rows);
  }
  const int items = static_cast<int>(block.items.size());
  proto.mutable_item_stream()->Reserve(items);
  proto.mutable_item_first_row()->Reserve(items);
  proto.mutable_item_rows()->Reserve(items);
  proto.mutable_item_priority()->Reserve(items);
  bool all_in_first_table = true;
  for (const ItemInfo& item : block.items) {
    proto.add_item_stream(item.stream);
    proto.add_item_first_row(item.first_row);
    proto.add_item_rows(item.rows);
    proto.add_item_priority(item.priority);
    all_in_first_table = all_in_first_table && item.table == 0;
  }
  if (!all_in_first_table) {
    for (const ItemInfo& item : block.items) {
      proto.add_item_table(item.table);
    }
  }
  return proto;
}

absl::StatusOr<InsertBlock> FromProto(const v1::InsertBlock& proto, ByteSlices data) {
  const int chunks = proto.chunk_stream_size();
  WAGGLE_RETURN_IF_ERROR(CheckLength("chunk_first_row", proto.chunk_first_row_size(), "chunk_stream", chunks));
  WAGGLE_RETURN_IF_ERROR(CheckLength("chunk_rows", proto.chunk_rows_size(), "chunk_stream", chunks));
  const int items = proto.item_stream_size();
  WAGGLE_RETURN_IF_ERROR(CheckLength("item_first_row", proto.item_first_row_size(), "item_stream", items));
  WAGGLE_RETURN_IF_ERROR(CheckLength("item_rows", proto.item_rows_size(), "item_stream", items));
  WAGGLE_RETURN_IF_ERROR(CheckLength("item_priority", proto.item_priority_size(), "item_stream", items));
  if (proto.item_table_size() != 0) {
    WAGGLE_RETURN_IF_ERROR(CheckLength("item_table", proto.item_table_size(), "item_stream", items));
  }
  InsertBlock block;
  block.policy_version = proto.policy_version();
  block.data = std::move(data);
  block.chunks.reserve(chunks);
  for (int i = 0; i < chunks; ++i) {
    block.chunks.push_back({proto.chunk_stream(i), proto.chunk_first_row(i), proto.chunk_rows(i)});
  }
  block.items.reserve(items);
  for (int i = 0; i < items; ++i) {
    block.items.push_back({proto.item_table_size() == 0 ? 0 : proto.item_table(i), proto.item_stream(i),
                           proto.item_first_row(i), proto.item_rows(i), proto.item_priority(i)});
  }
  return block;
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
