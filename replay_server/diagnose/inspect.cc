#include "replay_server/diagnose/inspect.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/base/steady_now.h"
#include "common/tensor/checksum.h"
#include "common/tensor/elements.h"
#include "replay_server/batches/gather.h"
#include "replay_server/batches/pinned_rows.h"
#include "replay_server/selectors/new_selector.h"

namespace waggle {
namespace {

char Letter(ItemOrder order) {
  switch (order) {
    case ItemOrder::kKey:
      return 'k';
    case ItemOrder::kNewest:
      return 'n';
    case ItemOrder::kOldest:
      return 'o';
    case ItemOrder::kHighestPriority:
      return 'h';
    case ItemOrder::kLowestPriority:
      return 'l';
  }
  return '?';
}

// Total, because no two items have one generation.
bool Before(ItemOrder order, const ItemFacts& a, const ItemFacts& b) {
  switch (order) {
    case ItemOrder::kKey:
      return a.key < b.key;
    case ItemOrder::kNewest:
      return a.generation > b.generation;
    case ItemOrder::kOldest:
      return a.generation < b.generation;
    case ItemOrder::kHighestPriority:
      return a.priority != b.priority ? a.priority > b.priority : a.generation < b.generation;
    case ItemOrder::kLowestPriority:
      return a.priority != b.priority ? a.priority < b.priority : a.generation < b.generation;
  }
  return false;
}

// Says where a page ended: all that the order goes by of its last item.
std::string MakeToken(ItemOrder order, const ItemFacts& last) {
  uint64_t priority;
  std::memcpy(&priority, &last.priority, sizeof(priority));
  return absl::StrCat(std::string(1, Letter(order)), "-", absl::Hex(last.key), "-", absl::Hex(last.generation), "-",
                      absl::Hex(priority));
}

absl::StatusOr<std::optional<ItemFacts>> ParseToken(const InspectRequest& request) {
  if (request.page_token.empty()) {
    return std::nullopt;
  }
  const std::vector<std::string> parts = absl::StrSplit(request.page_token, '-');
  ItemFacts last;
  uint64_t priority = 0;
  if (parts.size() != 4 || parts[0] != std::string(1, Letter(request.order)) ||
      !absl::SimpleHexAtoi(parts[1], &last.key) || !absl::SimpleHexAtoi(parts[2], &last.generation) ||
      !absl::SimpleHexAtoi(parts[3], &priority)) {
    return absl::InvalidArgumentError("page_token: is not one that a page of this order ended with");
  }
  std::memcpy(&last.priority, &priority, sizeof(priority));
  if (std::isnan(last.priority)) {
    return absl::InvalidArgumentError("page_token: has a priority that is not a number");
  }
  return last;
}

int Bucket(double value) {
  if (!(value > 0)) {
    return ItemStatistics::kZero;
  }
  int exponent = 0;
  std::frexp(value, &exponent);
  return exponent;
}

void Count(const ItemFacts& item, ItemStatistics* statistics) {
  const bool first = statistics->items++ == 0;
  statistics->rows += item.rows;
  ++statistics->priorities[Bucket(item.priority)];
  ++statistics->times_sampled[Bucket(item.times_sampled)];
  statistics->min_priority = first ? item.priority : std::min(statistics->min_priority, item.priority);
  statistics->max_priority = first ? item.priority : std::max(statistics->max_priority, item.priority);
  statistics->min_policy_version =
      first ? item.policy_version : std::min(statistics->min_policy_version, item.policy_version);
  statistics->max_policy_version =
      first ? item.policy_version : std::max(statistics->max_policy_version, item.policy_version);
  // As they come: a sum of priorities could overflow.
  const auto count = static_cast<double>(statistics->items);
  statistics->mean_priority += (item.priority - statistics->mean_priority) / count;
  statistics->mean_policy_version +=
      (static_cast<double>(item.policy_version) - statistics->mean_policy_version) / count;
}

// The page's items and one more, where there are as many.
std::vector<ItemFacts> FindPage(const Table& table, const InspectRequest& request,
                                const std::optional<ItemFacts>& after, ItemStatistics* statistics) {
  const auto wanted = static_cast<size_t>(request.page_size > 0 ? request.page_size + 1 : 0);
  const auto before = [order = request.order](const ItemFacts& a, const ItemFacts& b) { return Before(order, a, b); };
  const bool by_key = request.order == ItemOrder::kKey;
  std::vector<ItemFacts> page;  // A heap, with the last one at its front.
  std::vector<ItemFacts> step;
  step.reserve(Table::kScanSlots);  // Not under the lock.
  uint32_t slot = 0;
  if (by_key && after.has_value() && !request.statistics) {
    slot = static_cast<uint32_t>(std::min<uint64_t>(after->key + 1, std::numeric_limits<uint32_t>::max()));
  }
  for (bool more = wanted > 0 || request.statistics; more;) {
    step.clear();
    more = table.Scan(&slot, &step);
    for (const ItemFacts& item : step) {
      if (request.statistics) {
        Count(item, statistics);
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
    more = more && (request.statistics || !by_key || page.size() < wanted);
  }
  std::sort_heap(page.begin(), page.end(), before);
  return page;
}

std::vector<InspectedItem> Describe(const Table& table, const std::vector<ItemFacts>& found, const Table::Info& info) {
  const std::vector<ChunkRef> chunks = table.FirstChunks(found);
  const Table::Ages ages = table.ages();
  const absl::Duration now = SteadyElapsed();
  std::vector<InspectedItem> items(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    InspectedItem& item = items[i];
    item.facts = found[i];
    item.age_inserts = ages.next_generation - std::min(ages.next_generation, found[i].generation + 1);
    if (const std::optional<absl::Duration> at = ages.times.TimeOf(found[i].generation)) {
      item.age = std::max(absl::ZeroDuration(), now - *at);
    }
    item.probability = DrawProbability(*info.config, found[i].priority, info.items, info.priority_sum);
    if (chunks[i].get() != nullptr) {
      item.producer = chunks[i]->producer();
    }
  }
  return items;
}

}  // namespace

absl::StatusOr<Inspection> Inspect(const Table& table, const InspectRequest& request) {
  if (request.page_size < 0 || request.page_size > kMaxInspectedItems) {
    return absl::InvalidArgumentError(absl::StrCat("page_size: ", request.page_size, " is more than ",
                                                   kMaxInspectedItems, " items, or fewer than 0"));
  }
  if (request.keys.size() > static_cast<size_t>(kMaxInspectedItems)) {
    return absl::InvalidArgumentError(
        absl::StrCat("keys: ", request.keys.size(), " are more than ", kMaxInspectedItems));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::optional<ItemFacts> after, ParseToken(request));
  InspectRequest page_request = request;
  if (!request.keys.empty()) {
    page_request.page_size = 0;
  }
  Inspection inspection;
  std::vector<ItemFacts> found = FindPage(table, page_request, after, &inspection.statistics);
  if (found.size() > static_cast<size_t>(page_request.page_size)) {
    found.pop_back();
    inspection.next_page_token = MakeToken(request.order, found.back());
  }
  for (const uint64_t key : request.keys) {
    if (const std::optional<Table::HeldItem> item = table.Hold(key)) {
      found.push_back(item->facts);
    } else {
      inspection.unknown_keys.push_back(key);
    }
  }
  const Table::Info info = table.info();
  inspection.table_items = info.items;
  inspection.items = Describe(table, found, info);
  return inspection;
}

absl::StatusOr<std::vector<InspectedColumn>> InspectColumns(const Table& table, const Window& window,
                                                            int64_t max_bytes) {
  const RowLayout& rows = table.rows();
  const int64_t count = int64_t{window.context} + window.rows;
  PinnedRows pinned;
  WAGGLE_RETURN_IF_ERROR(pinned.Pin(window));
  std::vector<InspectedColumn> columns;
  int64_t left = max_bytes;
  for (size_t i = 0; i < rows.signature.size(); ++i) {
    InspectedColumn column;
    column.spec = rows.signature[i];
    column.spec.shape.insert(column.spec.shape.begin(), count);
    const int64_t bytes = static_cast<int64_t>(rows.column_bytes[i]) * count;
    const bool fits = bytes <= left;
    left -= fits ? bytes : 0;
    Checksummer checksum;
    int64_t elements = 0;
    WAGGLE_RETURN_IF_ERROR(VisitColumn(rows, i, window, [&](absl::string_view run) {
      checksum.Update(run.data(), run.size());
      if (fits) {
        column.data.append(run.data(), run.size());
      }
      const auto here = static_cast<int64_t>(run.size() / DTypeSize(column.spec.dtype));
      for (int64_t element = 0; element < here; ++element) {
        const double value = ElementAsDouble(column.spec.dtype, run.data(), element);
        column.min = elements == 0 ? value : std::min(column.min, value);
        column.max = elements == 0 ? value : std::max(column.max, value);
        column.mean += (value - column.mean) / static_cast<double>(++elements);
      }
    }));
    column.checksum = checksum.Digest();
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace waggle
