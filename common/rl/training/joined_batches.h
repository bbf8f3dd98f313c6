#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/config/plan/table_plan.h"
#include "common/rl/kit/batches.h"

namespace waggle {

// The batches that an algorithm sees: those of its tables, to whose rows the rows of tables of imported episodes are
// added (TablePlan::adds_to). May throw as LibTorch does.
class JoinedBatches {
 public:
  // Entry i of both belongs to one table. The batches must outlive this; null for a table that is not drawn.
  JoinedBatches(const std::vector<TablePlan>& tables, absl::Span<const TensorBatch* const> batches);

  // By the algorithm's names of its tables. Valid as long as this is.
  std::map<std::string, const TensorBatch*> by_name() const { return by_name_; }

  // The part of rows [rows, …] of the algorithm's batch that came from this table of the plan; undefined stays so.
  torch::Tensor PartOf(size_t table, const torch::Tensor& rows) const;

 private:
  struct Part {
    int64_t first = 0;
    int64_t rows = 0;
  };
  std::map<std::string, TensorBatch> joined_;
  std::map<std::string, const TensorBatch*> by_name_;
  std::vector<Part> parts_;
};

}  // namespace waggle
