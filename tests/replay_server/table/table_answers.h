#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "replay_server/table/table.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

// A table without a server, and a recorder of its answers.

namespace waggle::testing {

inline std::shared_ptr<Table> NewTable(const TableConfig& config) {
  return ValueOf(Table::Create(config, 1));
}

inline std::shared_ptr<const BatchLayout> LayoutFor(const TableConfig& config, int64_t batch_size) {
  return std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(config, batch_size, size_t{1} << 30)));
}

inline std::vector<NewItem> Items(uint64_t first, uint64_t count) {
  std::vector<NewItem> items;
  for (uint64_t i = 0; i < count; ++i) {
    items.push_back(OneRow(first + i));
  }
  return items;
}

// Records answers in order.
struct Answers {
  std::vector<std::string> order;
  std::vector<absl::Status> inserts;
  std::vector<absl::StatusOr<SampledBatch>> samples;

  std::function<void(absl::Status)> OnInsert(const std::string& name) {
    return [this, name](absl::Status status) {
      order.push_back(name);
      inserts.push_back(std::move(status));
    };
  }
  Table::SampleDone OnSample(const std::string& name) {
    return [this, name](absl::StatusOr<SampledBatch> batch) {
      order.push_back(name);
      samples.push_back(std::move(batch));
    };
  }
};

}  // namespace waggle::testing
