#include "replay_server/table/gather.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "replay_server/table/row_source.h"

namespace waggle {
namespace {

// Items whose rows are asked for ahead of the copying, so that cache misses overlap.
constexpr size_t kPrefetchAhead = 6;

// One field of the view, ready to be copied.
struct FieldCopy {
  size_t column = 0;
  ViewField::Rows rows = ViewField::Rows::kFirst;
  size_t stack = 1;
  size_t row_bytes = 0;
  size_t item_bytes = 0;  // Of the batch.
  char* destination = nullptr;
};

size_t ColumnIndex(const RowLayout& rows, const std::string& name) {
  const auto it = std::find_if(rows.signature.begin(), rows.signature.end(),
                               [&name](const ArraySpec& column) { return column.name == name; });
  return static_cast<size_t>(it - rows.signature.begin());
}

// Most rows of most columns are a few bytes, for which a call of memcpy would cost more than the copy.
inline void CopyBytes(char* destination, const char* source, size_t bytes) {
  switch (bytes) {
    case 4:
      std::memcpy(destination, source, 4);
      break;
    case 8:
      std::memcpy(destination, source, 8);
      break;
    case 12:
      std::memcpy(destination, source, 12);
      break;
    case 16:
      std::memcpy(destination, source, 16);
      break;
    default:
      std::memcpy(destination, source, bytes);
  }
}

// Row `row` of an item, counted from the first one that it has, context included.
const char* RowAt(RowSource* rows, size_t column, const Window& window, size_t row) {
  row += window.offset;
  size_t chunk = 0;
  while (row >= window.chunks[chunk]->rows()) {
    row -= window.chunks[chunk]->rows();
    ++chunk;
  }
  return rows->Row(*window.chunks[chunk], column, row);
}

const char* FirstRow(RowSource* rows, size_t column, const Window& window) {
  return RowAt(rows, column, window, window.context);
}

const char* LastRow(RowSource* rows, size_t column, const Window& window) {
  return RowAt(rows, column, window, size_t{window.context} + window.rows - 1);
}

// Rows [first, first + count) of an item.
char* CopyRows(RowSource* rows, const FieldCopy& field, const Window& window, size_t first, size_t count,
               char* destination) {
  size_t row = window.offset + first;
  for (const ChunkRef& chunk : window.chunks) {
    if (row >= chunk->rows()) {
      row -= chunk->rows();
      continue;
    }
    const size_t here = std::min<size_t>(count, chunk->rows() - row);
    CopyBytes(destination, rows->Row(*chunk, field.column, row), here * field.row_bytes);
    destination += here * field.row_bytes;
    count -= here;
    row = 0;
    if (count == 0) {
      break;
    }
  }
  return destination;
}

// The rows that end with row `last` of an item, as many as a stack has; its first row stands in for those before it.
char* CopyStack(RowSource* rows, const FieldCopy& field, const Window& window, size_t last, char* destination) {
  const size_t there = std::min(field.stack, last + 1);
  for (size_t i = there; i < field.stack; ++i) {
    CopyBytes(destination, RowAt(rows, field.column, window, 0), field.row_bytes);
    destination += field.row_bytes;
  }
  return CopyRows(rows, field, window, last + 1 - there, there, destination);
}

void CopyAllRows(RowSource* rows, const FieldCopy& field, const Window& window, char* destination) {
  char* const end = destination + field.item_bytes;
  if (field.stack == 1) {
    destination = CopyRows(rows, field, window, window.context, window.rows, destination);
  }
  for (size_t row = 0; field.stack > 1 && row < window.rows; ++row) {
    destination = CopyStack(rows, field, window, window.context + row, destination);
  }
  if (destination != end) {
    std::memset(destination, 0, static_cast<size_t>(end - destination));
  }
}

void CopyField(RowSource* rows, const FieldCopy& field, const Window& window, char* destination) {
  const bool stacked = field.stack > 1;
  switch (field.rows) {
    case ViewField::Rows::kFirst:
      if (stacked) {
        CopyStack(rows, field, window, window.context, destination);
      } else {
        CopyBytes(destination, FirstRow(rows, field.column, window), field.row_bytes);
      }
      break;
    case ViewField::Rows::kLast:
      if (stacked) {
        CopyStack(rows, field, window, size_t{window.context} + window.rows - 1, destination);
      } else {
        CopyBytes(destination, LastRow(rows, field.column, window), field.row_bytes);
      }
      break;
    case ViewField::Rows::kAll:
      CopyAllRows(rows, field, window, destination);
      break;
  }
}

void CopyFields(const RowLayout& layout, const std::vector<FieldCopy>& fields, const Sampled& sampled,
                RowSource* rows) {
  for (size_t i = 0; i < sampled.items.size(); ++i) {
    if (i + kPrefetchAhead < sampled.items.size()) {
      const Window& ahead = sampled.items[i + kPrefetchAhead].window;
      for (const FieldCopy& field : fields) {
        if (layout.codec_of[field.column] != Codec::kNone) {
          continue;
        }
        __builtin_prefetch(ahead.chunks.front()->Row(layout, field.column, ahead.offset));
      }
    }
    const Window& window = sampled.items[i].window;
    for (const FieldCopy& field : fields) {
      CopyField(rows, field, window, field.destination + i * field.item_bytes);
    }
  }
}

template <class T, class Value>
void CopyFact(char* destination, const Sampled& sampled, const Value& value) {
  T* out = reinterpret_cast<T*>(destination);
  for (const SampledItem& item : sampled.items) {
    *out++ = static_cast<T>(value(item));
  }
}

// In the order of MakeBatchLayout.
void CopyFacts(const BatchField* fact, char* bytes, const Sampled& sampled) {
  const auto next = [&fact, bytes] { return bytes + (fact++)->offset; };
  CopyFact<int64_t>(next(), sampled, [](const SampledItem& item) { return item.key; });
  CopyFact<int64_t>(next(), sampled, [](const SampledItem& item) { return item.generation; });
  CopyFact<int64_t>(next(), sampled, [](const SampledItem& item) { return item.window.rows; });
  CopyFact<int64_t>(next(), sampled, [](const SampledItem& item) { return item.policy_version; });
  CopyFact<int64_t>(next(), sampled, [](const SampledItem& item) { return item.times_sampled; });
  CopyFact<double>(next(), sampled, [](const SampledItem& item) { return item.probability; });
  CopyFact<double>(next(), sampled, [](const SampledItem& item) { return item.priority; });
}

// What lies between the fields travels with them, and must not be what the memory held before.
void ZeroGaps(const BatchLayout& layout, char* bytes) {
  for (size_t i = 0; i < layout.fields.size(); ++i) {
    const BatchField& field = layout.fields[i];
    const size_t end = field.offset + static_cast<size_t>(field.spec.NumBytes());
    const size_t next = i + 1 < layout.fields.size() ? layout.fields[i + 1].offset : layout.total_bytes;
    std::memset(bytes + end, 0, next - end);
  }
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
                                    std::shared_ptr<char> bytes) {
  SampledBatch batch;
  batch.bytes = std::move(bytes);
  batch.table_items = static_cast<uint64_t>(sampled.table_items);
  batch.priority_sum = sampled.priority_sum;
  batch.min_probability = sampled.min_probability;
  batch.samples_allowed = sampled.samples_allowed;
  batch.table_incarnation = sampled.table_incarnation;
  batch.layout = std::move(layout);
  if (sampled.items.empty()) {
    return batch;
  }
  std::vector<FieldCopy> fields;
  for (size_t i = 0; i < config.view.size(); ++i) {
    FieldCopy field;
    field.column = ColumnIndex(rows, config.view[i].column);
    field.rows = config.view[i].rows;
    field.row_bytes = rows.column_bytes[field.column];
    field.stack = static_cast<size_t>(config.view[i].stack);
    field.item_bytes = field.row_bytes * field.stack *
                       (field.rows == ViewField::Rows::kAll ? static_cast<size_t>(config.max_window) : 1);
    field.destination = batch.bytes.get() + batch.layout->fields[i].offset;
    fields.push_back(field);
  }
  RowSource source(rows);
  CopyFields(rows, fields, sampled, &source);
  WAGGLE_RETURN_IF_ERROR(source.status());
  CopyFacts(&batch.layout->fields[config.view.size()], batch.bytes.get(), sampled);
  ZeroGaps(*batch.layout, batch.bytes.get());
  return batch;
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
