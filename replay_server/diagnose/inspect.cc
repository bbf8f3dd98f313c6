#include "replay_server/diagnose/inspect.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/base/tensor/checksum.h"
#include "common/base/tensor/elements.h"
#include "common/net/array_spec_convert.h"
#include "replay_server/base/refusal_reasons.h"
#include "replay_server/batches/gather.h"
#include "replay_server/batches/pinned_rows.h"
#include "replay_server/selectors/new_selector.h"

namespace waggle {
namespace {

using Request = v1::InspectRequest;

// The columns of one item go into one message.
constexpr uint64_t kMaxColumnBytes = uint64_t{32} << 20;

template <class... Parts>
absl::Status Bad(const Parts&... parts) {
  return Refusal(absl::StatusCode::kInvalidArgument, reasons::kBadRequest, parts...);
}

// By v1::InspectRequest::Order.
constexpr char kLetters[] = {'k', 'k', 'n', 'o', 'h', 'l'};

// Total, because no two items have one generation.
bool Before(Request::Order order, const ItemFacts& a, const ItemFacts& b) {
  switch (order) {
    case Request::ORDER_NEWEST:
      return a.generation > b.generation;
    case Request::ORDER_OLDEST:
      return a.generation < b.generation;
    case Request::ORDER_HIGHEST_PRIORITY:
      return a.priority != b.priority ? a.priority > b.priority : a.generation < b.generation;
    case Request::ORDER_LOWEST_PRIORITY:
      return a.priority != b.priority ? a.priority < b.priority : a.generation < b.generation;
    default:
      return a.key < b.key;
  }
}

// The end of a page: the numbers of its last item that decide the order.
std::string MakeToken(Request::Order order, const ItemFacts& last) {
  uint64_t priority;
  std::memcpy(&priority, &last.priority, sizeof(priority));
  return absl::StrCat(std::string(1, kLetters[order]), "-", absl::Hex(last.key), "-", absl::Hex(last.generation), "-",
                      absl::Hex(priority));
}

absl::StatusOr<std::optional<ItemFacts>> ParseToken(const Request& request) {
  if (request.page_token().empty()) {
    return std::nullopt;
  }
  const std::vector<std::string> parts = absl::StrSplit(request.page_token(), '-');
  ItemFacts last;
  uint64_t priority = 0;
  if (parts.size() != 4 || parts[0] != std::string(1, kLetters[request.order()]) ||
      !absl::SimpleHexAtoi(parts[1], &last.key) || !absl::SimpleHexAtoi(parts[2], &last.generation) ||
      !absl::SimpleHexAtoi(parts[3], &priority)) {
    return Bad("page_token: got \"", absl::CHexEscape(request.page_token()),
               "\"; wanted a token of a page of this order");
  }
  std::memcpy(&last.priority, &priority, sizeof(priority));
  if (std::isnan(last.priority)) {
    return Bad("page_token: got a priority that is not a number; wanted a token of a page of this order");
  }
  return last;
}

// Powers of two: bucket b counts 2^(b - 1) <= value < 2^b.
constexpr int kZeroBucket = -100'000;
using Buckets = std::map<int, uint64_t>;

int Bucket(double value) {
  if (!(value > 0)) {
    return kZeroBucket;
  }
  int exponent = 0;
  std::frexp(value, &exponent);
  return exponent;
}

void Write(const Buckets& buckets, google::protobuf::RepeatedPtrField<v1::HistogramBucket>* out) {
  for (const auto& [bucket, count] : buckets) {
    v1::HistogramBucket* added = out->Add();
    if (bucket != kZeroBucket) {
      added->set_low(std::ldexp(1, bucket - 1));
      added->set_high(std::ldexp(1, bucket));
    }
    added->set_count(count);
  }
}

class Statistics {
 public:
  void Count(const ItemFacts& item) {
    const bool first = out_.items() == 0;
    out_.set_items(out_.items() + 1);
    out_.set_rows(out_.rows() + item.rows);
    ++priorities_[Bucket(item.priority)];
    ++times_sampled_[Bucket(item.times_sampled)];
    out_.set_min_priority(first ? item.priority : std::min(out_.min_priority(), item.priority));
    out_.set_max_priority(first ? item.priority : std::max(out_.max_priority(), item.priority));
    const uint64_t version = item.policy_version;
    out_.set_min_policy_version(first ? version : std::min(out_.min_policy_version(), version));
    out_.set_max_policy_version(first ? version : std::max(out_.max_policy_version(), version));
    // Running means: a sum of priorities could overflow.
    const auto count = static_cast<double>(out_.items());
    out_.set_mean_priority(out_.mean_priority() + (item.priority - out_.mean_priority()) / count);
    out_.set_mean_policy_version(out_.mean_policy_version() +
                                 (static_cast<double>(version) - out_.mean_policy_version()) / count);
  }

  v1::ItemStatistics Take() {
    Write(priorities_, out_.mutable_priorities());
    Write(times_sampled_, out_.mutable_times_sampled());
    return std::move(out_);
  }

 private:
  v1::ItemStatistics out_;
  Buckets priorities_;
  Buckets times_sampled_;
};

// The page's items and one more, if there are as many.
std::vector<ItemFacts> FindPage(const Table& table, const Request& request, const std::optional<ItemFacts>& after,
                                Statistics* statistics) {
  const size_t wanted = request.page_size() > 0 && request.keys().empty() ? size_t{request.page_size()} + 1 : 0;
  const auto before = [&request](const ItemFacts& a, const ItemFacts& b) { return Before(request.order(), a, b); };
  const bool by_key = kLetters[request.order()] == 'k';
  std::vector<ItemFacts> page;  // A heap, with the last one at its front.
  std::vector<ItemFacts> step;
  step.reserve(Table::kScanSlots);  // Not under the lock.
  uint32_t slot = 0;
  if (by_key && after.has_value() && !request.statistics()) {
    slot = static_cast<uint32_t>(std::min<uint64_t>(after->key + 1, std::numeric_limits<uint32_t>::max()));
  }
  for (bool more = wanted > 0 || request.statistics(); more;) {
    step.clear();
    more = table.Scan(&slot, &step);
    for (const ItemFacts& item : step) {
      if (request.statistics()) {
        statistics->Count(item);
      }
      if (wanted == 0 || (after.has_value() && !before(*after, item)) ||
          (page.size() == wanted && !before(item, page.front()))) {
        continue;
      }
      if (page.size() == wanted) {
        std::pop_heap(page.begin(), page.end(), before);
        page.pop_back();
      }
      page.push_back(item);
      std::push_heap(page.begin(), page.end(), before);
    }
    more = more && (request.statistics() || !by_key || page.size() < wanted);
  }
  std::sort_heap(page.begin(), page.end(), before);
  return page;
}

void AddItems(const Table& table, const std::vector<ItemFacts>& found, v1::InspectResponse* response) {
  const Table::Info info = table.info();
  const std::vector<ChunkRef> chunks = table.FirstChunks(found);
  const Table::Ages ages = table.ages();
  const absl::Duration now = SteadyElapsed();
  response->set_table_items(info.items);
  for (size_t i = 0; i < found.size(); ++i) {
    const ItemFacts& facts = found[i];
    v1::InspectedItem* item = response->add_items();
    item->set_key(facts.key);
    item->set_generation(facts.generation);
    item->set_priority(facts.priority);
    item->set_times_sampled(facts.times_sampled);
    item->set_policy_version(facts.policy_version);
    item->set_rows(facts.rows);
    item->set_context_rows(facts.context_rows);
    item->set_age_inserts(ages.next_generation - std::min(ages.next_generation, facts.generation + 1));
    if (const std::optional<absl::Duration> at = ages.times.TimeOf(facts.generation)) {
      item->set_age_seconds(absl::ToDoubleSeconds(std::max(absl::ZeroDuration(), now - *at)));
    }
    if (const auto probability = DrawProbability(*info.config, facts.priority, info.items, info.priority_sum)) {
      item->set_probability(*probability);
    }
    if (chunks[i].get() != nullptr) {
      item->set_producer(chunks[i]->producer());
    }
  }
}

absl::Status CheckRequest(const Request& request) {
  if (!Request::Order_IsValid(request.order())) {
    return Bad("order: got ", static_cast<int>(request.order()), "; wanted ", Request::Order_MIN, " to ",
               Request::Order_MAX);
  }
  if (request.page_size() > kMaxInspectedItems) {
    return Bad("page_size: got ", request.page_size(), "; wanted at most ", kMaxInspectedItems);
  }
  if (request.columns() ? request.keys_size() != 1 : request.keys_size() > int{kMaxInspectedItems}) {
    return Bad("keys: got ", request.keys_size(), "; wanted ",
               request.columns() ? "1, for its columns" : absl::StrCat("at most ", kMaxInspectedItems));
  }
  return absl::OkStatus();
}

// All columns, without a lock.
absl::Status AddColumns(const Table& table, const Window& window, uint64_t max_bytes, v1::InspectResponse* response) {
  const RowLayout& rows = table.rows();
  const int64_t count = int64_t{window.context} + window.rows;
  PinnedRows pinned;
  WAGGLE_RETURN_IF_ERROR(pinned.Pin(window));
  uint64_t left = std::min(max_bytes, kMaxColumnBytes);
  for (size_t i = 0; i < rows.signature.size(); ++i) {
    const DType dtype = rows.signature[i].dtype;
    v1::InspectedColumn* column = response->add_columns();
    ArraySpec spec = rows.signature[i];
    spec.shape.insert(spec.shape.begin(), count);
    *column->mutable_spec() = ToProto(spec);
    const uint64_t bytes = rows.column_bytes[i] * static_cast<uint64_t>(count);
    const bool fits = bytes <= left;
    left -= fits ? bytes : 0;
    Checksummer checksum;
    int64_t elements = 0;
    WAGGLE_RETURN_IF_ERROR(VisitColumn(rows, i, window, [&](absl::string_view run) {
      checksum.Update(run.data(), run.size());
      if (fits) {
        column->mutable_data()->append(run.data(), run.size());
      }
      const auto here = static_cast<int64_t>(run.size() / DTypeSize(dtype));
      for (int64_t element = 0; element < here; ++element) {
        const double value = ElementAsDouble(dtype, run.data(), element);
        column->set_min(elements == 0 ? value : std::min(column->min(), value));
        column->set_max(elements == 0 ? value : std::max(column->max(), value));
        column->set_mean(column->mean() + (value - column->mean()) / static_cast<double>(++elements));
      }
    }));
    column->set_checksum(checksum.Digest());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Inspect(const Table& table, const v1::InspectRequest& request, v1::InspectResponse* response) {
  WAGGLE_RETURN_IF_ERROR(CheckRequest(request));
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<ItemFacts> after, ParseToken(request));
  Statistics statistics;
  std::vector<ItemFacts> found = FindPage(table, request, after, &statistics);
  if (found.size() > request.page_size()) {
    found.pop_back();
    response->set_next_page_token(MakeToken(request.order(), found.back()));
  }
  if (request.statistics()) {
    *response->mutable_statistics() = statistics.Take();
  }
  for (const uint64_t key : request.keys()) {
    const std::optional<Table::HeldItem> item = table.Hold(key);
    if (!item.has_value() && request.columns()) {
      return Refusal(absl::StatusCode::kNotFound, reasons::kUnknownItem, "keys: table \"", table.name(),
                     "\" has no item of key ", key);
    }
    if (!item.has_value()) {
      response->add_unknown_keys(key);
      continue;
    }
    found.push_back(item->facts);
    if (request.columns()) {
      WAGGLE_RETURN_IF_ERROR(AddColumns(table, item->window, request.max_column_bytes(), response));
    }
  }
  AddItems(table, found, response);
  return absl::OkStatus();
}

}  // namespace waggle
