#include "common/replay_client/table_config_convert.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/replay_client/replay_convert.h"
#include "common/rpc/array_spec_convert.h"

namespace waggle {
namespace {

v1::SelectorKind ToProto(SelectorKind kind) {
  switch (kind) {
    case SelectorKind::kUniform:
      return v1::SELECTOR_KIND_UNIFORM;
    case SelectorKind::kPrioritized:
      return v1::SELECTOR_KIND_PRIORITIZED;
    case SelectorKind::kFifo:
      return v1::SELECTOR_KIND_FIFO;
    case SelectorKind::kLifo:
      return v1::SELECTOR_KIND_LIFO;
    case SelectorKind::kMinHeap:
      return v1::SELECTOR_KIND_MIN_HEAP;
    case SelectorKind::kMaxHeap:
      return v1::SELECTOR_KIND_MAX_HEAP;
  }
  return v1::SELECTOR_KIND_UNSPECIFIED;
}

absl::StatusOr<SelectorKind> FromProto(absl::string_view what, v1::SelectorKind kind) {
  switch (kind) {
    case v1::SELECTOR_KIND_UNIFORM:
      return SelectorKind::kUniform;
    case v1::SELECTOR_KIND_PRIORITIZED:
      return SelectorKind::kPrioritized;
    case v1::SELECTOR_KIND_FIFO:
      return SelectorKind::kFifo;
    case v1::SELECTOR_KIND_LIFO:
      return SelectorKind::kLifo;
    case v1::SELECTOR_KIND_MIN_HEAP:
      return SelectorKind::kMinHeap;
    case v1::SELECTOR_KIND_MAX_HEAP:
      return SelectorKind::kMaxHeap;
    default:
      return absl::InvalidArgumentError(absl::StrCat(what, ": ", static_cast<int>(kind), " is no kind of ", what));
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
    case ViewField::Rows::kFuture:
      return v1::ViewField::ROWS_FUTURE;
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
    case v1::ViewField::ROWS_FUTURE:
      return ViewField::Rows::kFuture;
    default:
      return absl::InvalidArgumentError(absl::StrCat("view: ", static_cast<int>(rows), " is no choice of rows"));
  }
}

v1::Durability ToProto(Durability durability) {
  switch (durability) {
    case Durability::kNone:
      return v1::DURABILITY_NONE;
    case Durability::kCheckpoint:
      return v1::DURABILITY_CHECKPOINT;
    case Durability::kLog:
      return v1::DURABILITY_LOG;
  }
  return v1::DURABILITY_NONE;
}

absl::StatusOr<Durability> FromProto(v1::Durability durability) {
  switch (durability) {
    case v1::DURABILITY_NONE:
      return Durability::kNone;
    case v1::DURABILITY_CHECKPOINT:
      return Durability::kCheckpoint;
    case v1::DURABILITY_LOG:
      return Durability::kLog;
    default:
      return absl::InvalidArgumentError(absl::StrCat("durability: ", static_cast<int>(durability), " is none"));
  }
}

v1::SamplerConfig ToProto(const SamplerConfig& sampler) {
  v1::SamplerConfig proto;
  proto.set_kind(ToProto(sampler.kind));
  proto.set_priority_exponent(sampler.priority_exponent);
  proto.set_priority_epsilon(sampler.priority_epsilon);
  proto.set_absolute_priorities(sampler.absolute_priorities);
  proto.set_without_replacement(sampler.without_replacement);
  proto.set_independent_draws(sampler.independent_draws);
  proto.set_uniform_share(sampler.uniform_share);
  proto.set_recent_share(sampler.recent_share);
  proto.set_recent_items(sampler.recent_items);
  proto.set_recent_decay(sampler.recent_decay);
  proto.set_recent_period(sampler.recent_period);
  return proto;
}

absl::StatusOr<SamplerConfig> FromProto(const v1::SamplerConfig& proto) {
  SamplerConfig sampler;
  WAGGLE_ASSIGN_OR_RETURN(sampler.kind, FromProto("sampler", proto.kind()));
  sampler.priority_exponent = proto.priority_exponent();
  sampler.priority_epsilon = proto.priority_epsilon();
  sampler.absolute_priorities = proto.absolute_priorities();
  sampler.without_replacement = proto.without_replacement();
  sampler.independent_draws = proto.independent_draws();
  sampler.uniform_share = proto.uniform_share();
  sampler.recent_share = proto.recent_share();
  sampler.recent_items = proto.recent_items();
  sampler.recent_decay = proto.recent_decay();
  sampler.recent_period = proto.recent_period();
  return sampler;
}

v1::RateLimiterConfig ToProto(const RateLimiterConfig& limiter) {
  v1::RateLimiterConfig proto;
  proto.set_samples_per_insert(limiter.samples_per_insert);
  proto.set_min_items(limiter.min_items);
  proto.set_error_buffer(limiter.error_buffer);
  if (limiter.min_difference.has_value()) {
    proto.set_min_difference(*limiter.min_difference);
  }
  if (limiter.max_difference.has_value()) {
    proto.set_max_difference(*limiter.max_difference);
  }
  return proto;
}

RateLimiterConfig FromProto(const v1::RateLimiterConfig& proto) {
  RateLimiterConfig limiter;
  limiter.samples_per_insert = proto.samples_per_insert();
  limiter.min_items = proto.min_items();
  limiter.error_buffer = proto.error_buffer();
  if (proto.has_min_difference()) {
    limiter.min_difference = proto.min_difference();
  }
  if (proto.has_max_difference()) {
    limiter.max_difference = proto.max_difference();
  }
  return limiter;
}

// Before anything is made of the lists: a small message may have a great many entries.
absl::Status CheckListSizes(const v1::TableConfig& proto) {
  if (proto.view_size() > kMaxViewFields) {
    return absl::InvalidArgumentError(
        absl::StrCat("view: has ", proto.view_size(), " fields; 1 to ", kMaxViewFields, " are allowed"));
  }
  if (proto.compression_size() > kMaxColumns) {
    return absl::InvalidArgumentError(absl::StrCat("compression: names ", proto.compression_size(),
                                                   " columns; at most ", kMaxColumns, " are allowed"));
  }
  return absl::OkStatus();
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
    added->set_stack(static_cast<int32_t>(field.stack));
  }
  *proto.mutable_sampler() = ToProto(config.sampler);
  proto.mutable_remover()->set_kind(ToProto(config.remover.kind));
  proto.mutable_remover()->set_priority_exponent(config.remover.priority_exponent);
  *proto.mutable_rate_limiter() = ToProto(config.rate_limiter);
  proto.set_max_items(config.max_items);
  proto.set_max_bytes(config.max_bytes);
  proto.set_max_times_sampled(config.max_times_sampled);
  proto.set_max_window(config.max_window);
  proto.set_transition_rows(config.transition_rows);
  proto.set_seed(config.seed);
  for (const ColumnCompression& compression : config.compression) {
    v1::ColumnCompression* added = proto.add_compression();
    added->set_column(compression.column);
    added->set_codec(ToProto(compression.codec));
  }
  proto.set_durability(ToProto(config.durability));
  proto.set_log_sync(config.log_sync);
  proto.set_memory_limit(config.memory_limit);
  return proto;
}

absl::StatusOr<TableConfig> FromProto(const v1::TableConfig& proto) {
  WAGGLE_RETURN_IF_ERROR(CheckListSizes(proto));
  TableConfig config;
  config.name = proto.name();
  WAGGLE_ASSIGN_OR_RETURN(config.signature, FromProto(proto.signature()));
  for (const v1::ViewField& field : proto.view()) {
    WAGGLE_ASSIGN_OR_RETURN(const ViewField::Rows rows, FromProto(field.rows()));
    config.view.push_back({field.name(), field.column(), rows, field.stack() == 0 ? 1 : field.stack()});
  }
  WAGGLE_ASSIGN_OR_RETURN(config.sampler, FromProto(proto.sampler()));
  WAGGLE_ASSIGN_OR_RETURN(config.remover.kind, FromProto("remover", proto.remover().kind()));
  config.remover.priority_exponent = proto.remover().priority_exponent();
  config.rate_limiter = FromProto(proto.rate_limiter());
  config.max_items = proto.max_items();
  config.max_bytes = proto.max_bytes();
  config.max_times_sampled = proto.max_times_sampled();
  config.max_window = proto.max_window();
  config.transition_rows = proto.transition_rows();
  config.seed = proto.seed();
  for (const v1::ColumnCompression& compression : proto.compression()) {
    WAGGLE_ASSIGN_OR_RETURN(const Codec codec, FromProto(compression.codec()));
    config.compression.push_back({compression.column(), codec});
  }
  WAGGLE_ASSIGN_OR_RETURN(config.durability, FromProto(proto.durability()));
  config.log_sync = proto.log_sync();
  config.memory_limit = proto.memory_limit();
  WAGGLE_RETURN_IF_ERROR(config.Validate());
  return config;
}

}  // namespace waggle
