#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "common/base/tensor/array_spec.h"
#include "common/replay/ports/replay.h"
#include "tests/support/slices.h"

namespace waggle::testing {

// All elements of a column in the blocks of one stream, row by row.
template <class Element>
std::vector<Element> ColumnOf(const std::vector<InsertBlock>& blocks, const std::vector<ArraySpec>& signature,
                              const std::string& name) {
  std::vector<Element> elements;
  for (const InsertBlock& block : blocks) {
    const std::string data = BytesOf(block.data);
    size_t rows = 0;
    for (const ChunkInfo& chunk : block.chunks) {
      rows += chunk.rows;
    }
    size_t at = 0;
    for (const ArraySpec& column : signature) {
      const size_t bytes = rows * static_cast<size_t>(column.NumBytes());
      if (column.name == name) {
        const size_t before = elements.size();
        elements.resize(before + bytes / sizeof(Element));
        std::memcpy(elements.data() + before, data.data() + at, bytes);
      }
      at += bytes;
    }
  }
  return elements;
}

}  // namespace waggle::testing
