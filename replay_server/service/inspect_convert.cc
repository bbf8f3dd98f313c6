#include "replay_server/service/inspect_convert.h"

#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/rpc/array_spec_convert.h"

namespace waggle {
namespace {

absl::StatusOr<ItemOrder> FromProto(v1::InspectRequest::Order order) {
  switch (order) {
    case v1::InspectRequest::ORDER_UNSPECIFIED:
    case v1::InspectRequest::ORDER_KEY:
      return ItemOrder::kKey;
    case v1::InspectRequest::ORDER_NEWEST:
      return ItemOrder::kNewest;
    case v1::InspectRequest::ORDER_OLDEST:
      return ItemOrder::kOldest;
    case v1::InspectRequest::ORDER_HIGHEST_PRIORITY:
      return ItemOrder::kHighestPriority;
    case v1::InspectRequest::ORDER_LOWEST_PRIORITY:
      return ItemOrder::kLowestPriority;
    default:
      return absl::InvalidArgumentError(absl::StrCat("order: ", static_cast<int>(order), " is none"));
  }
}

void AddBuckets(const std::map<int, int64_t>& counts, google::protobuf::RepeatedPtrField<v1::HistogramBucket>* proto) {
  for (const auto& [bucket, count] : counts) {
    v1::HistogramBucket* added = proto->Add();
    if (bucket != ItemStatistics::kZero) {
      added->set_low(std::ldexp(1, bucket - 1));
      added->set_high(std::ldexp(1, bucket));
    }
    added->set_count(static_cast<uint64_t>(count));
  }
}

v1::InspectedItem ToProto(const InspectedItem& item) {
  v1::InspectedItem proto;
  proto.set_key(item.facts.key);
  proto.set_generation(item.facts.generation);
  proto.set_age_inserts(item.age_inserts);
  if (item.age.has_value()) {
    proto.set_age_seconds(absl::ToDoubleSeconds(*item.age));
  }
  proto.set_priority(item.facts.priority);
  if (item.probability.has_value()) {
    proto.set_probability(*item.probability);
  }
  proto.set_times_sampled(item.facts.times_sampled);
  proto.set_policy_version(item.facts.policy_version);
  proto.set_rows(item.facts.rows);
  proto.set_context_rows(item.facts.context_rows);
  proto.set_producer(item.producer);
  return proto;
}

v1::ItemStatistics ToProto(const ItemStatistics& statistics) {
  v1::ItemStatistics proto;
  proto.set_items(static_cast<uint64_t>(statistics.items));
  proto.set_rows(static_cast<uint64_t>(statistics.rows));
  AddBuckets(statistics.priorities, proto.mutable_priorities());
  AddBuckets(statistics.times_sampled, proto.mutable_times_sampled());
  proto.set_min_priority(statistics.min_priority);
  proto.set_max_priority(statistics.max_priority);
  proto.set_mean_priority(statistics.mean_priority);
  proto.set_min_policy_version(statistics.min_policy_version);
  proto.set_max_policy_version(statistics.max_policy_version);
  proto.set_mean_policy_version(statistics.mean_policy_version);
  return proto;
}

}  // namespace

absl::StatusOr<InspectRequest> FromProto(const v1::InspectRequest& proto) {
  InspectRequest request;
  WAGGLE_ASSIGN_OR_RETURN(request.order, FromProto(proto.order()));
  request.page_size = proto.page_size();
  request.page_token = proto.page_token();
  request.keys.assign(proto.keys().begin(), proto.keys().end());
  request.statistics = proto.statistics();
  if (proto.columns() && request.keys.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("columns: are those of one item; got ", request.keys.size(), " keys"));
  }
  return request;
}

v1::InspectResponse ToProto(const Inspection& inspection, bool with_statistics) {
  v1::InspectResponse proto;
  for (const InspectedItem& item : inspection.items) {
    *proto.add_items() = ToProto(item);
  }
  proto.set_next_page_token(inspection.next_page_token);
  for (const uint64_t key : inspection.unknown_keys) {
    proto.add_unknown_keys(key);
  }
  if (with_statistics) {
    *proto.mutable_statistics() = ToProto(inspection.statistics);
  }
  proto.set_table_items(static_cast<uint64_t>(inspection.table_items));
  return proto;
}

v1::InspectedColumn ToProto(InspectedColumn column) {
  v1::InspectedColumn proto;
  *proto.mutable_spec() = ToProto(column.spec);
  proto.set_data(std::move(column.data));
  proto.set_checksum(column.checksum);
  proto.set_min(column.min);
  proto.set_max(column.max);
  proto.set_mean(column.mean);
  return proto;
}

}  // namespace waggle
