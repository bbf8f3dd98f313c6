#include "replay_server/batches/gather.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "replay_server/batches/pinned_rows.h"
#include "replay_server/batches/put_field.h"
#include "replay_server/rows/row_source.h"

namespace waggle {
namespace {

// Items whose rows are prefetched, so that cache misses overlap.
constexpr size_t kPrefetchAhead = 6;
// Contiguous rows from this size on cost less to send in place than to copy.
constexpr size_t kLargeBytes = 8192;

size_t ColumnIndex(const RowLayout& rows, const std::string& name) {
  const auto it = std::find_if(rows.signature.begin(), rows.signature.end(),
                               [&name](const ArraySpec& column) { return column.name == name; });
  return static_cast<size_t>(it - rows.signature.begin());
}

// Copies items [first, end).
void CopyFields(const RowLayout& layout, const std::vector<FieldCopy>& fields, const Sampled& sampled, size_t first,
                size_t end, RowSource* rows) {
  for (size_t i = first; i < end; ++i) {
    if (i + kPrefetchAhead < end) {
      const Window& ahead = sampled.items[i + kPrefetchAhead].window;
      for (const FieldCopy& field : fields) {
        if (layout.codec_of[field.column] != Codec::kNone) {
          continue;
        }
        __builtin_prefetch(ahead.chunks.front()->Row(layout, field.column, ahead.offset));
      }
    }
    const SampledItem& item = sampled.items[i];
    for (const FieldCopy& field : fields) {
      CopySink sink{field.destination + i * field.item_bytes};
      PutField(rows, field, item, &sink);
    }
  }
}

// The same for rows that may be on disk. Copies as many items at a time as may be pinned together.
absl::Status PinAndCopyFields(const RowLayout& layout, const std::vector<FieldCopy>& fields, const Sampled& sampled,
                              RowSource* rows) {
  PinnedRows pinned;
  for (size_t first = 0; first < sampled.items.size();) {
    WAGGLE_ASSIGN_OR_RETURN(const size_t count, pinned.Pin(absl::MakeConstSpan(sampled.items).subspan(first)));
    CopyFields(layout, fields, sampled, first, first + count, rows);
    first += count;
  }
  return absl::OkStatus();
}

template <class T, class Value>
void CopyFact(char* destination, const Sampled& sampled, const Value& value) {
  T* out = reinterpret_cast<T*>(destination);
  for (const SampledItem& item : sampled.items) {
    *out++ = static_cast<T>(value(item));
  }
}

// Copies the facts in the order of MakeBatchLayout, the first one to `bytes`.
void CopyFacts(const BatchField* fact, bool has_future, char* bytes, const Sampled& sampled) {
  bytes -= fact->offset;
  const auto next = [&fact, bytes] { return bytes + (fact++)->offset; };
  CopyFact<int64_t>(next(), sampled, [](const SampledItem& item) { return item.key; });
  CopyFact<int64_t>(next(), sampled, [](const SampledItem& item) { return item.generation; });
  CopyFact<int64_t>(next(), sampled, [](const SampledItem& item) { return item.window.rows; });
  CopyFact<int64_t>(next(), sampled, [](const SampledItem& item) { return item.policy_version; });
  CopyFact<int64_t>(next(), sampled, [](const SampledItem& item) { return item.times_sampled; });
  CopyFact<double>(next(), sampled, [](const SampledItem& item) { return item.probability; });
  CopyFact<double>(next(), sampled, [](const SampledItem& item) { return item.priority; });
  if (has_future) {
    CopyFact<int64_t>(next(), sampled, [](const SampledItem& item) { return item.future_offset; });
  }
}

// The end of a field, and the gap to the next one. Gaps are sent too, so they must not leak old memory.
size_t EndOf(const BatchField& field) {
  return field.offset + static_cast<size_t>(field.spec.NumBytes());
}

size_t GapBehind(const BatchLayout& layout, size_t field) {
  const size_t next = field + 1 < layout.fields.size() ? layout.fields[field + 1].offset : layout.total_bytes;
  return next - EndOf(layout.fields[field]);
}

FieldCopy FieldOf(const TableConfig& config, const RowLayout& rows, const ViewField& view) {
  FieldCopy field;
  field.column = ColumnIndex(rows, view.column);
  field.rows = view.rows;
  field.row_bytes = rows.column_bytes[field.column];
  field.stack = static_cast<size_t>(view.stack);
  field.item_bytes = field.row_bytes * field.stack *
                     (field.rows == ViewField::Rows::kAll ? static_cast<size_t>(config.SampledRows()) : 1);
  return field;
}

// True if its rows should be sent in place.
bool IsLarge(const RowLayout& rows, const FieldCopy& field) {
  return rows.codec_of[field.column] == Codec::kNone && field.row_bytes * field.stack >= kLargeBytes;
}

SampledBatch FactsOf(const Sampled& sampled, std::shared_ptr<const BatchLayout> layout) {
  SampledBatch batch;
  batch.table_items = static_cast<uint64_t>(sampled.table_items);
  batch.priority_sum = sampled.priority_sum;
  batch.min_probability = sampled.min_probability;
  batch.samples_allowed = sampled.samples_allowed;
  batch.table_incarnation = sampled.table_incarnation;
  batch.layout = std::move(layout);
  return batch;
}

}  // namespace

absl::Status CheckLayout(const TableConfig& config, const BatchLayout& layout, int64_t batch_size) {
  WAGGLE_ASSIGN_OR_RETURN(const BatchLayout wanted,
                          MakeBatchLayout(config, batch_size, std::numeric_limits<size_t>::max()));
  bool equal = wanted.fields.size() == layout.fields.size() && wanted.total_bytes == layout.total_bytes;
  for (size_t i = 0; equal && i < wanted.fields.size(); ++i) {
    equal = wanted.fields[i].spec == layout.fields[i].spec && wanted.fields[i].offset == layout.fields[i].offset;
  }
  if (!equal) {
    return absl::InvalidArgumentError(
        absl::StrCat("the layout is not that of ", batch_size, " items of table \"", config.name, "\""));
  }
  return absl::OkStatus();
}

absl::StatusOr<SampledBatch> Gather(const TableConfig& config, const RowLayout& rows,
                                    std::shared_ptr<const BatchLayout> layout, const Sampled& sampled,
                                    std::shared_ptr<char> bytes, bool pinned) {
  SampledBatch batch = FactsOf(sampled, std::move(layout));
  batch.bytes = std::move(bytes);
  if (sampled.items.empty()) {
    return batch;
  }
  std::vector<FieldCopy> fields;
  for (size_t i = 0; i < config.view.size(); ++i) {
    fields.push_back(FieldOf(config, rows, config.view[i]));
    fields.back().destination = batch.bytes.get() + batch.layout->fields[i].offset;
  }
  RowSource source(rows);
  if (config.memory_limit > 0 && !pinned) {
    WAGGLE_RETURN_IF_ERROR(PinAndCopyFields(rows, fields, sampled, &source));
  } else {
    CopyFields(rows, fields, sampled, 0, sampled.items.size(), &source);
  }
  WAGGLE_RETURN_IF_ERROR(source.status());
  const BatchField& first_fact = batch.layout->fields[config.view.size()];
  CopyFacts(&first_fact, config.HasFuture(), batch.bytes.get() + first_fact.offset, sampled);
  for (size_t i = 0; i < batch.layout->fields.size(); ++i) {
    std::memset(batch.bytes.get() + EndOf(batch.layout->fields[i]), 0, GapBehind(*batch.layout, i));
  }
  return batch;
}

bool HasLargeRows(const TableConfig& config, const RowLayout& rows) {
  // Rows that may go to disk cannot be sent in place.
  return config.memory_limit == 0 && std::any_of(config.view.begin(), config.view.end(), [&](const ViewField& view) {
           return IsLarge(rows, FieldOf(config, rows, view));
         });
}

absl::StatusOr<SlicedBatch> GatherSlices(const TableConfig& config, const RowLayout& rows,
                                         std::shared_ptr<const BatchLayout> layout, const Sampled& sampled,
                                         const std::shared_ptr<const void>& owner,
                                         const std::function<std::shared_ptr<char>(size_t)>& allocate) {
  SlicedBatch batch;
  batch.facts = FactsOf(sampled, std::move(layout));
  if (sampled.items.empty()) {
    return batch;
  }
  const std::vector<BatchField>& places = batch.facts.layout->fields;
  const auto end_with_gap = [&](size_t i) { return EndOf(places[i]) + GapBehind(*batch.facts.layout, i); };
  // The copies are contiguous, with the gaps.
  std::vector<FieldCopy> fields;
  size_t copied_bytes = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    if (i < config.view.size()) {
      fields.push_back(FieldOf(config, rows, config.view[i]));
    }
    copied_bytes += i < config.view.size() && IsLarge(rows, fields[i]) ? 0 : end_with_gap(i) - places[i].offset;
  }
  const std::shared_ptr<char> copies = allocate(copied_bytes);
  RowSource source(rows);
  std::vector<FieldCopy> copied;
  char* copy = copies.get();
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t size = end_with_gap(i) - places[i].offset;
    if (i < config.view.size() && IsLarge(rows, fields[i])) {
      SliceSink sink(owner, &batch.data);
      for (const SampledItem& item : sampled.items) {
        PutField(&source, fields[i], item, &sink);
      }
      sink.PutZeros(GapBehind(*batch.facts.layout, i));
      continue;
    }
    if (i < config.view.size()) {
      fields[i].destination = copy;
      copied.push_back(fields[i]);
    } else if (i == config.view.size()) {
      CopyFacts(&places[i], config.HasFuture(), copy, sampled);  // Copies all facts, which come last.
    }
    std::memset(copy + size - GapBehind(*batch.facts.layout, i), 0, GapBehind(*batch.facts.layout, i));
    batch.data.Append({copy, size, copies});
    copy += size;
  }
  CopyFields(rows, copied, sampled, 0, sampled.items.size(), &source);
  WAGGLE_RETURN_IF_ERROR(source.status());
  return batch;
}

int64_t BlockBytes(const Sampled& sampled) {
  std::vector<std::pair<const uint64_t*, int64_t>> blocks;
  for (const SampledItem& item : sampled.items) {
    for (const ChunkRef& chunk : item.window.chunks) {
      blocks.emplace_back(chunk->pins(0), chunk->block_bytes());  // The address of its pins identifies a block.
    }
  }
  std::sort(blocks.begin(), blocks.end());
  int64_t bytes = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    bytes += i == 0 || blocks[i].first != blocks[i - 1].first ? blocks[i].second : 0;
  }
  return bytes;
}

absl::Status VisitColumn(const RowLayout& rows, size_t column, const Window& window,
                         const std::function<void(absl::string_view bytes)>& visit) {
  RowSource source(rows);
  size_t row = window.offset;
  size_t left = size_t{window.context} + window.rows;
  for (const ChunkRef& chunk : window.chunks) {
    if (row >= chunk->rows()) {
      row -= chunk->rows();
      continue;
    }
    const size_t here = std::min<size_t>(left, chunk->rows() - row);
    if (here > 0) {
      visit({source.Row(*chunk, column, row), here * rows.column_bytes[column]});
    }
    left -= here;
    row = 0;
  }
  return source.status();
}

}  // namespace waggle
