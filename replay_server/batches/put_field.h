#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>

#include "common/base/tensor/byte_slices.h"
#include "common/config/table/table_config.h"
#include "replay_server/items/table_state.h"
#include "replay_server/rows/row_source.h"

// Copies a field of the view from an item's rows. Included by gather.cc only.

namespace waggle {

// A field of the view, prepared for copying.
struct FieldCopy {
  size_t column = 0;
  ViewField::Rows rows = ViewField::Rows::kFirst;
  size_t stack = 1;
  size_t row_bytes = 0;
  size_t item_bytes = 0;  // In the batch.
  char* destination = nullptr;
};

// Most rows have a few bytes, for which a call of memcpy would cost more than the copy.
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

// Copies rows to contiguous memory.
struct CopySink {
  char* at = nullptr;

  void Put(const char* source, size_t bytes) {
    CopyBytes(at, source, bytes);
    at += bytes;
  }
  void PutZeros(size_t bytes) {
    std::memset(at, 0, bytes);
    at += bytes;
  }
};

// Lists the places of rows.
class SliceSink {
 public:
  SliceSink(const std::shared_ptr<const void>& owner, ByteSlices* slices) : owner_(owner), slices_(*slices) {}
  ~SliceSink() { Flush(); }

  void Put(const char* source, size_t bytes) {
    if (run_ != nullptr && run_ + bytes_ == source) {
      bytes_ += bytes;
      return;
    }
    Flush();
    run_ = source;
    bytes_ = bytes;
  }
  void PutZeros(size_t bytes) {
    static const char kZeros[4096] = {};
    Flush();
    while (bytes > 0) {
      const size_t size = std::min(bytes, sizeof(kZeros));
      slices_.Append({kZeros, size, nullptr});
      bytes -= size;
    }
  }

 private:
  void Flush() {
    if (bytes_ > 0) {
      slices_.Append({run_, bytes_, owner_});
    }
    run_ = nullptr;
    bytes_ = 0;
  }

  const std::shared_ptr<const void>& owner_;
  ByteSlices& slices_;
  const char* run_ = nullptr;  // The last run, which may be extended.
  size_t bytes_ = 0;
};

// Row `row` of an item, counted with the context.
inline const char* RowAt(RowSource* rows, size_t column, const Window& window, size_t row) {
  row += window.offset;
  size_t chunk = 0;
  while (row >= window.chunks[chunk]->rows()) {
    row -= window.chunks[chunk]->rows();
    ++chunk;
  }
  return rows->Row(*window.chunks[chunk], column, row);
}

template <class Sink>
void PutRows(RowSource* rows, const FieldCopy& field, const Window& window, size_t first, size_t count, Sink* sink) {
  size_t row = window.offset + first;
  for (const ChunkRef& chunk : window.chunks) {
    if (row >= chunk->rows()) {
      row -= chunk->rows();
      continue;
    }
    const size_t here = std::min<size_t>(count, chunk->rows() - row);
    sink->Put(rows->Row(*chunk, field.column, row), here * field.row_bytes);
    count -= here;
    row = 0;
    if (count == 0) {
      break;
    }
  }
}

// The stack that ends with row `last` of an item. The item's first row replaces missing ones.
template <class Sink>
void PutStack(RowSource* rows, const FieldCopy& field, const Window& window, size_t last, Sink* sink) {
  const size_t there = std::min(field.stack, last + 1);
  for (size_t i = there; i < field.stack; ++i) {
    sink->Put(RowAt(rows, field.column, window, 0), field.row_bytes);
  }
  PutRows(rows, field, window, last + 1 - there, there, sink);
}

// All rows of an item, each with its stack, and zeros for missing rows.
template <class Sink>
void PutAllRows(RowSource* rows, const FieldCopy& field, const Window& window, Sink* sink) {
  if (field.stack == 1) {
    PutRows(rows, field, window, window.context, window.rows, sink);
  }
  for (size_t row = 0; field.stack > 1 && row < window.rows; ++row) {
    PutStack(rows, field, window, window.context + row, sink);
  }
  if (const size_t bytes = window.rows * field.stack * field.row_bytes; bytes < field.item_bytes) {
    sink->PutZeros(field.item_bytes - bytes);
  }
}

// One row of an item, counted with the context, and its stack if there is one.
template <class Sink>
void PutRow(RowSource* rows, const FieldCopy& field, const Window& window, size_t row, Sink* sink) {
  if (field.stack > 1) {
    PutStack(rows, field, window, row, sink);
  } else {
    sink->Put(RowAt(rows, field.column, window, row), field.row_bytes);
  }
}

// The field's rows of an item.
template <class Sink>
void PutField(RowSource* rows, const FieldCopy& field, const SampledItem& item, Sink* sink) {
  const Window& window = item.window;
  switch (field.rows) {
    case ViewField::Rows::kFirst:
      PutRow(rows, field, window, window.context, sink);
      break;
    case ViewField::Rows::kLast:
      PutRow(rows, field, window, size_t{window.context} + window.rows - 1, sink);
      break;
    case ViewField::Rows::kAll:
      PutAllRows(rows, field, window, sink);
      break;
    case ViewField::Rows::kFuture:
      PutRow(rows, field, window, item.future_row, sink);
      break;
  }
}

}  // namespace waggle
