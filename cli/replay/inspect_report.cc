#include "cli/replay/inspect_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/human_text.h"
#include "common/base/tensor/elements.h"
#include "common/hub/summary/proto_json.h"
#include "common/net/array_spec_convert.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxBuckets = 24;       // One line each.
constexpr double kBarWidth = 40;         // For the fullest bucket.
constexpr int64_t kMaxRowElements = 16;  // Longer rows are summed up.
constexpr int64_t kMaxRows = 32;

std::string Short(double value) {
  return absl::StrFormat("%.4g", value);
}

// Merges neighbouring buckets until there are at most kMaxBuckets.
std::string HistogramText(const google::protobuf::RepeatedPtrField<v1::HistogramBucket>& all, bool whole) {
  std::vector<v1::HistogramBucket> buckets(all.begin(), all.end());
  while (buckets.size() > kMaxBuckets) {
    std::vector<v1::HistogramBucket> merged;
    for (size_t i = 0; i < buckets.size(); i += 2) {
      merged.push_back(buckets[i]);
      if (i + 1 < buckets.size()) {
        merged.back().set_high(buckets[i + 1].high());
        merged.back().set_count(buckets[i].count() + buckets[i + 1].count());
      }
    }
    buckets.swap(merged);
  }
  uint64_t most = 1;
  for (const v1::HistogramBucket& bucket : buckets) {
    most = std::max(most, bucket.count());
  }
  std::vector<std::vector<std::string>> rows;
  for (const v1::HistogramBucket& bucket : buckets) {
    const bool one = bucket.low() == bucket.high() || (whole && bucket.low() + 1 == bucket.high());
    const double last = whole ? bucket.high() - 1 : bucket.high();
    const auto bar = static_cast<size_t>(kBarWidth * static_cast<double>(bucket.count()) / static_cast<double>(most));
    rows.push_back({one ? Short(bucket.low()) : absl::StrCat(Short(bucket.low()), " to ", Short(last)),
                    absl::StrCat(bucket.count()), std::string(bar, '#')});
  }
  return AlignedColumns(rows, "    ");
}

std::string StatisticsText(const v1::ItemStatistics& statistics) {
  if (statistics.items() == 0) {
    return "";
  }
  return absl::StrCat("  policy versions ", statistics.min_policy_version(), " to ", statistics.max_policy_version(),
                      ", mean ", Short(statistics.mean_policy_version()), "; ", statistics.rows(), " rows in windows\n",
                      "  priorities ", Short(statistics.min_priority()), " to ", Short(statistics.max_priority()),
                      ", mean ", Short(statistics.mean_priority()), "\n",
                      HistogramText(statistics.priorities(), /*whole=*/false), "  times sampled\n",
                      HistogramText(statistics.times_sampled(), /*whole=*/true));
}

std::string AgeText(const v1::InspectedItem& item) {
  return item.has_age_seconds() ? ShortDuration(absl::Seconds(item.age_seconds())) : "?";
}

std::string ItemsText(const v1::InspectResponse& response) {
  std::vector<std::vector<std::string>> rows = {{"key", "generation", "age", "inserts since", "priority", "probability",
                                                 "sampled", "policy version", "rows", "writer"}};
  for (const v1::InspectedItem& item : response.items()) {
    rows.push_back({absl::StrCat(item.key()), absl::StrCat(item.generation()), AgeText(item),
                    absl::StrCat(item.age_inserts()), Short(item.priority()),
                    item.has_probability() ? Short(item.probability()) : "-", absl::StrCat(item.times_sampled()),
                    absl::StrCat(item.policy_version()),
                    item.context_rows() > 0 ? absl::StrCat(item.rows(), " after ", item.context_rows())
                                            : absl::StrCat(item.rows()),
                    item.producer().empty() ? "?" : item.producer()});
  }
  return rows.size() == 1 ? "" : AlignedColumns(rows, "  ");
}

// An array from the wire, checked: its type and shape are valid, and it has all its elements.
struct Column {
  ArraySpec spec;
  int64_t rows = 0;
  int64_t row_elements = 0;
  const std::string* data = nullptr;  // Null if the data was not sent.
};

absl::StatusOr<Column> Decode(const v1::InspectedColumn& proto) {
  absl::StatusOr<ArraySpec> spec = FromProto(proto.spec());
  if (!spec.ok()) {
    return spec.status();
  }
  Column column;
  column.spec = *std::move(spec);
  const int64_t elements = column.spec.NumElements();
  if (column.spec.shape.empty() ||
      (!proto.data().empty() && static_cast<int64_t>(proto.data().size()) != column.spec.NumBytes())) {
    return absl::InvalidArgumentError("a column whose data does not fit its shape");
  }
  column.rows = column.spec.shape.front();
  column.row_elements = column.rows > 0 ? elements / column.rows : 0;
  column.data = proto.data().empty() && elements > 0 ? nullptr : &proto.data();
  return column;
}

std::string RowText(const Column& column, int64_t row) {
  const int64_t first = row * column.row_elements;
  std::vector<std::string> texts;
  for (int64_t i = 0; i < column.row_elements; ++i) {
    texts.push_back(ElementText(column.spec.dtype, column.data->data(), first + i));
  }
  return column.spec.shape.size() == 1 ? texts.front() : absl::StrCat("[", absl::StrJoin(texts, ", "), "]");
}

std::string ColumnText(const v1::InspectedColumn& proto, int64_t context_rows) {
  const absl::StatusOr<Column> column = Decode(proto);
  if (!column.ok()) {
    return absl::StrCat("  ", Printable(proto.spec().name()), ": ", column.status().message(), "\n");
  }
  std::string text =
      absl::StrCat("  ", column->spec.DebugString(), ", min ", Short(proto.min()), ", max ", Short(proto.max()),
                   ", mean ", Short(proto.mean()), ", checksum ", absl::Hex(proto.checksum(), absl::kZeroPad16), "\n");
  if (column->data == nullptr || column->row_elements > kMaxRowElements || column->row_elements == 0) {
    return text;
  }
  std::vector<std::vector<std::string>> rows;
  for (int64_t row = 0; row < std::min(column->rows, kMaxRows); ++row) {
    // Numbered from the window's first row; context rows are negative.
    rows.push_back({absl::StrCat(row - context_rows), RowText(*column, row)});
  }
  absl::StrAppend(&text, AlignedColumns(rows, "    "));
  return column->rows > kMaxRows ? absl::StrCat(text, "    and ", column->rows - kMaxRows, " more rows\n") : text;
}

// Nested as the shape is, from dimension `dimension` on. Advances `next` past the elements it took.
Json ValuesJson(const Column& column, size_t dimension, int64_t* next) {
  if (dimension == column.spec.shape.size()) {
    return Json::parse(ElementText(column.spec.dtype, column.data->data(), (*next)++), nullptr, false);
  }
  Json list = Json::array();
  for (int64_t i = 0; i < column.spec.shape[dimension]; ++i) {
    list.push_back(ValuesJson(column, dimension + 1, next));
  }
  return list;
}

Json ColumnJson(const v1::InspectedColumn& proto) {
  Json json = {{"name", proto.spec().name()},
               {"dtype", nullptr},
               {"shape", std::vector<int64_t>(proto.spec().shape().begin(), proto.spec().shape().end())},
               {"min", proto.min()},
               {"max", proto.max()},
               {"mean", proto.mean()},
               {"checksum", absl::StrCat(absl::Hex(proto.checksum(), absl::kZeroPad16))},
               {"values", nullptr}};
  if (const absl::StatusOr<Column> column = Decode(proto); column.ok()) {
    json["dtype"] = std::string(DTypeName(column->spec.dtype));
    int64_t next = 0;
    if (column->data != nullptr) {
      // An array without elements may have more rows than fit into memory.
      json["values"] = column->spec.NumElements() == 0 ? Json::array() : ValuesJson(*column, 0, &next);
    }
  }
  return json;
}

Json ItemJson(const v1::InspectedItem& item) {
  Json json = ProtoJson(item, {"producer"});
  json["writer"] = item.producer();
  return json;
}

}  // namespace

std::string InspectText(const std::string& table, const Inspections& inspections) {
  std::string text;
  for (const auto& server : inspections) {
    if (!server.status.ok()) {
      absl::StrAppend(&text, "the replay server at ", server.address,
                      " does not answer: ", Printable(server.status.message()), "\n");
      continue;
    }
    absl::StrAppend(&text, table, " at ", server.address, ": ", server.response.table_items(), " items\n",
                    StatisticsText(server.response.statistics()), ItemsText(server.response));
    for (const uint64_t key : server.response.unknown_keys()) {
      absl::StrAppend(&text, "  there is no item of key ", key, "\n");
    }
    if (!server.response.next_page_token().empty()) {
      absl::StrAppend(&text, "  next page: --page ", Printable(server.response.next_page_token()), "\n");
    }
  }
  return text;
}

std::string ItemText(const std::string& table, const ReplayAnswer<v1::InspectResponse>& inspection) {
  std::string text = absl::StrCat(table, " at ", inspection.address, "\n", ItemsText(inspection.response));
  const auto context = inspection.response.items().empty()
                           ? int64_t{0}
                           : static_cast<int64_t>(inspection.response.items(0).context_rows());
  for (const v1::InspectedColumn& column : inspection.response.columns()) {
    absl::StrAppend(&text, ColumnText(column, context));
  }
  return text;
}

std::string InspectJson(const std::string& table, const Inspections& inspections) {
  Json json = {{"table", table}, {"servers", Json::array()}};
  for (const auto& server : inspections) {
    Json entry = {{"server", server.address}};
    if (!server.status.ok()) {
      entry["error"] = std::string(server.status.message());
      json["servers"].push_back(std::move(entry));
      continue;
    }
    const v1::InspectResponse& response = server.response;
    entry["table_items"] = response.table_items();
    entry["statistics"] = response.has_statistics() ? ProtoJson(response.statistics()) : Json(nullptr);
    entry["items"] = Json::array();
    for (const v1::InspectedItem& item : response.items()) {
      entry["items"].push_back(ItemJson(item));
    }
    entry["unknown_keys"] = std::vector<uint64_t>(response.unknown_keys().begin(), response.unknown_keys().end());
    entry["next_page"] = response.next_page_token().empty() ? Json(nullptr) : Json(response.next_page_token());
    if (!response.columns().empty()) {
      entry["columns"] = Json::array();
      for (const v1::InspectedColumn& column : response.columns()) {
        entry["columns"].push_back(ColumnJson(column));
      }
    }
    json["servers"].push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace waggle
