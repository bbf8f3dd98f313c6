#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/replay/ports/replay.h"

namespace waggle::testing {

// A table whose rows are one float32 vector "observation" of `width` and one float32 scalar "reward"; its items are one
// row, viewed whole.
inline TableConfig SimpleTable(const std::string& name, int64_t width = 2) {
  TableConfig config;
  config.name = name;
  config.signature = {{"observation", DType::kFloat32, {width}}, {"reward", DType::kFloat32, {}}};
  config.view = {{"observation", "observation", ViewField::Rows::kFirst},
                 {"reward", "reward", ViewField::Rows::kFirst}};
  config.max_items = 100'000;
  config.max_bytes = int64_t{1} << 30;
  return config;
}

// Rows [first_row, first_row + rows) of stream 0 as one chunk, each row an item of its own with priority 1. Every
// element of row r is r.
inline InsertBlock SimpleBlock(uint64_t first_row, uint32_t rows, int64_t width = 2) {
  InsertBlock block;
  block.chunks.push_back({0, first_row, rows});
  const auto values = std::make_shared<std::vector<float>>();
  values->reserve(rows * (width + 1));
  for (uint32_t row = 0; row < rows; ++row) {
    values->insert(values->end(), width, static_cast<float>(first_row + row));
    block.items.push_back({0, 0, first_row + row, 1, 1.0});
  }
  for (uint32_t row = 0; row < rows; ++row) {
    values->push_back(static_cast<float>(first_row + row));
  }
  const char* const bytes = reinterpret_cast<const char*>(values->data());
  block.data = ByteSlices({bytes, values->size() * sizeof(float), values});
  return block;
}

inline ReplayWriterOptions SimpleWriter(const std::string& writer_id, const TableConfig& table) {
  ReplayWriterOptions options;
  options.writer_id = writer_id;
  options.tables = {table.name};
  options.signature = table.signature;
  return options;
}

inline ReplaySamplerOptions SimpleSampler(const TableConfig& table, int64_t batch_size) {
  ReplaySamplerOptions options;
  options.table = table;
  options.batch_size = batch_size;
  return options;
}

// The rewards of a batch of such a table.
inline std::vector<float> Rewards(const SampledBatch& batch, int64_t batch_size) {
  const auto* const data = static_cast<const float*>(batch.Data("reward"));
  return std::vector<float>(data, data + batch_size);
}

}  // namespace waggle::testing
