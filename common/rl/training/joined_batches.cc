#include "common/rl/training/joined_batches.h"

#include "common/config/table/batch_layout.h"

namespace waggle {
namespace {

// An item's probability is that of its table's draw: of all draws it has the share of the table's rows.
TensorBatch Join(const TensorBatch& one, const TensorBatch& other) {
  TensorBatch joined;
  joined.size = one.size + other.size;
  joined.table_items = one.table_items + other.table_items;
  for (const auto& [name, field] : one.fields) {
    joined.fields[name] = torch::cat({field, other.at(name)});
  }
  if (const auto probability = joined.fields.find(kItemProbability); probability != joined.fields.end()) {
    const auto share = [&](int64_t rows) {
      return torch::full({rows}, static_cast<double>(rows) / static_cast<double>(joined.size),
                         probability->second.options());
    };
    probability->second = probability->second * torch::cat({share(one.size), share(other.size)});
  }
  return joined;
}

}  // namespace

JoinedBatches::JoinedBatches(const std::vector<TablePlan>& tables, absl::Span<const TensorBatch* const> batches) {
  for (size_t i = 0; i < tables.size(); ++i) {
    if (batches[i] == nullptr) {
      parts_.emplace_back();
      continue;
    }
    const std::string& name = tables[i].adds_to.empty() ? tables[i].name : tables[i].adds_to;
    const auto known = by_name_.find(name);
    const int64_t first = known == by_name_.end() ? 0 : known->second->size;
    parts_.push_back({first, batches[i]->size});
    if (first == 0) {
      by_name_[name] = batches[i];
    } else {
      joined_[name] = Join(*known->second, *batches[i]);
      by_name_[name] = &joined_[name];
    }
  }
}

torch::Tensor JoinedBatches::PartOf(size_t table, const torch::Tensor& rows) const {
  return rows.defined() && rows.size(0) != parts_[table].rows ? rows.narrow(0, parts_[table].first, parts_[table].rows)
                                                              : rows;
}

}  // namespace waggle
