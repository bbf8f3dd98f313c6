#include "replay_server/table/gather.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// Items whose rows are asked for ahead of the copying, so that cache misses overlap.
constexpr size_t kPrefetchAhead = 6;

// One field of the view, ready to be copied.
struct FieldCopy {
  size_t column = 0;
  ViewField::Rows rows = ViewField::Rows::kFirst;
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

const char* LastRow(const RowLayout& layout, size_t column, const Window& window) {
  size_t row = window.offset + size_t{window.rows} - 1;
  size_t chunk = 0;
  while (row >= window.chunks[chunk]->rows()) {
    row -= window.chunks[chunk]->rows();
    ++chunk;
  }
  return window.chunks[chunk]->Row(layout, column, row);
}

void CopyAllRows(const RowLayout& layout, const FieldCopy& field, const Window& window, char* destination) {
  char* const end = destination + field.item_bytes;
  size_t left = window.rows;
  size_t row = window.offset;
  for (const ChunkRef& chunk : window.chunks) {
    const size_t count = std::min<size_t>(left, chunk->rows() - row);
    CopyBytes(destination, chunk->Row(layout, field.column, row), count * field.row_bytes);
    destination += count * field.row_bytes;
    left -= count;
    row = 0;
  }
  if (destination != end) {
    std::memset(destination, 0, static_cast<size_t>(end - destination));
  }
}

void CopyFields(const RowLayout& layout, const std::vector<FieldCopy>& fields, const Sampled& sampled) {
  for (size_t i = 0; i < sampled.items.size(); ++i) {
    if (i + kPrefetchAhead < sampled.items.size()) {
      const Window& ahead = sampled.items[i + kPrefetchAhead].window;
      for (const FieldCopy& field : fields) {
        __builtin_prefetch(ahead.chunks.front()->Row(layout, field.column, ahead.offset));
      }
    }
    const Window& window = sampled.items[i].window;
    for (const FieldCopy& field : fields) {
      char* destination = field.destination + i * field.item_bytes;
      switch (field.rows) {
        case ViewField::Rows::kFirst:
          CopyBytes(destination, window.chunks.front()->Row(layout, field.column, window.offset), field.row_bytes);
          break;
        case ViewField::Rows::kLast:
          CopyBytes(destination, LastRow(layout, field.column, window), field.row_bytes);
          break;
        case ViewField::Rows::kAll:
          CopyAllRows(layout, field, window, destination);
          break;
      }
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

SampledBatch Gather(const TableConfig& config, const RowLayout& rows, std::shared_ptr<const BatchLayout> layout,
                    const Sampled& sampled) {
  SampledBatch batch;
  batch.bytes = AllocateBytes(layout->total_bytes);
  std::vector<FieldCopy> fields;
  for (size_t i = 0; i < config.view.size(); ++i) {
    FieldCopy field;
    field.column = ColumnIndex(rows, config.view[i].column);
    field.rows = config.view[i].rows;
    field.row_bytes = rows.column_bytes[field.column];
    field.item_bytes =
        field.row_bytes * (field.rows == ViewField::Rows::kAll ? static_cast<size_t>(config.max_window) : 1);
    field.destination = batch.bytes.get() + layout->fields[i].offset;
    fields.push_back(field);
  }
  CopyFields(rows, fields, sampled);
  CopyFacts(&layout->fields[config.view.size()], batch.bytes.get(), sampled);
  ZeroGaps(*layout, batch.bytes.get());
  batch.layout = std::move(layout);
  batch.table_items = static_cast<uint64_t>(sampled.table_items);
  batch.priority_sum = sampled.priority_sum;
  batch.min_probability = sampled.min_probability;
  return batch;
}

}  // namespace waggle
