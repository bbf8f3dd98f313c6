#include "common/rl/training/observation_statistics.h"

#include <algorithm>

#include "common/config/table/batch_layout.h"

namespace waggle {
namespace {

// Weight of published statistics, in rows.
constexpr double kAdoptedRows = 10'000;

// The rows of a field that sampled items have, without padding, [rows, …].
torch::Tensor RowsOf(const TensorBatch& batch, const ViewField& field) {
  const torch::Tensor& values = batch.at(field.name);
  if (field.rows != ViewField::Rows::kAll) {
    return values;
  }
  const torch::Tensor row = torch::arange(values.size(1), values.device()).unsqueeze(0);
  return values.index({row < batch.at(kItemLength).unsqueeze(1)});
}

template <class Visit>
void ForEachNormalizer(const ExperimentPlan& plan, const Model& model, const Visit& visit) {
  for (const NetworkPlan& network : plan.networks) {
    const Net& net = model.net(network.name);
    for (const NormalizerPlan& normalizer : network.normalizers) {
      for (const Network* const part : {&net.network(), net.target_network()}) {
        if (part != nullptr) {
          const std::vector<torch::Tensor>& values = part->parameters().value_views();
          visit(normalizer, values[static_cast<size_t>(normalizer.mean)],
                values[static_cast<size_t>(normalizer.deviation)]);
        }
      }
    }
  }
}

}  // namespace

ObservationStatistics::ObservationStatistics(const ExperimentPlan* plan, torch::Device device) : plan_(plan) {
  for (const NetworkPlan& network : plan->networks) {
    for (const NormalizerPlan& normalizer : network.normalizers) {
      statistics_[normalizer.array.name].try_emplace(normalizer.StatisticsName(), normalizer.array.shape, device,
                                                     normalizer.average);
      leaves_[normalizer.array.name].insert(normalizer.array.name);
      for (const std::string& leaf : normalizer.also) {
        leaves_[leaf].insert(normalizer.array.name);
      }
    }
  }
}

void ObservationStatistics::Update(absl::Span<const TensorBatch* const> batches, Model* model) {
  if (statistics_.empty()) {
    return;
  }
  const std::vector<TablePlan>& tables = plan_->algorithm.tables;
  for (size_t i = 0; i < tables.size(); ++i) {
    if (batches[i] == nullptr) {
      continue;
    }
    for (const ViewField& field : tables[i].table.view) {
      if (const auto leaf = leaves_.find(field.name); leaf != leaves_.end()) {
        const torch::Tensor rows = RowsOf(*batches[i], field);
        for (const std::string& counted : leaf->second) {
          for (auto& [name, statistics] : statistics_.at(counted)) {
            statistics.Update(rows);
          }
        }
      }
    }
  }
  Tell(model);
}

void ObservationStatistics::Adopt(const std::vector<std::string>& networks, Model* model) {
  for (const NetworkPlan& network : plan_->networks) {
    if (std::find(networks.begin(), networks.end(), network.name) == networks.end()) {
      continue;
    }
    const std::vector<torch::Tensor>& values = model->net(network.name).network().parameters().value_views();
    for (const NormalizerPlan& normalizer : network.normalizers) {
      const torch::Tensor mean = values[static_cast<size_t>(normalizer.mean)].to(torch::kFloat64).flatten();
      const torch::Tensor deviation = values[static_cast<size_t>(normalizer.deviation)].to(torch::kFloat64).flatten();
      const torch::Tensor weight = torch::full({1}, kAdoptedRows, mean.options());
      statistics_.at(normalizer.array.name)
          .at(normalizer.StatisticsName())
          .Load(torch::cat({weight, mean, deviation.square() * kAdoptedRows}));
    }
  }
  Tell(model);
}

void ObservationStatistics::VisitState(StateVisitor* visitor) {
  for (auto& [leaf, by_name] : statistics_) {
    for (auto& [name, statistics] : by_name) {
      visitor->Scope(name, [visitor, visited = &statistics] { visited->VisitState(visitor); });
    }
  }
}

void ObservationStatistics::Tell(Model* model) const {
  const torch::NoGradGuard no_grad;
  ForEachNormalizer(*plan_, *model, [&](const NormalizerPlan& normalizer, torch::Tensor mean, torch::Tensor deviation) {
    const RunningStatistics& statistics = statistics_.at(normalizer.array.name).at(normalizer.StatisticsName());
    mean.copy_(statistics.mean());
    deviation.copy_(statistics.deviation());
  });
}

}  // namespace waggle
