#include "replay_server/service/experiment_figures.h"

#include <algorithm>
#include <map>
#include <utility>

namespace waggle {

void SetTableGauges(const std::vector<std::shared_ptr<Table>>& tables, const ReplayStore::WriterInfo& writers,
                    Metrics* metrics) {
  std::map<std::string, int64_t> sums;
  if (tables.empty()) {  // They must not stay those of tables that are gone.
    sums = {{"max_items", 0},     {"items", 0},           {"bytes", 0},
            {"items_removed", 0}, {"inserts_waiting", 0}, {"samples_waiting", 0},
            {"memory_bytes", 0},  {"disk_bytes", 0},      {"disk_reads", 0}};
  }
  for (const std::shared_ptr<Table>& table : tables) {
    const Table::Info info = table->info();
    sums["max_items"] += info.config->max_items;
    sums["items"] += info.items;
    sums["bytes"] += info.bytes;
    sums["items_removed"] += info.items_removed;
    sums["inserts_waiting"] += info.inserts_waiting;
    sums["samples_waiting"] += info.samples_waiting;
    sums["memory_bytes"] += table->tier() != nullptr ? info.tier.memory_bytes : info.bytes;
    sums["disk_bytes"] += info.tier.disk_bytes;
    sums["disk_reads"] += info.tier.reads;
  }
  for (const auto& [name, sum] : sums) {
    metrics->Set(name, static_cast<double>(sum));
  }
  metrics->Set("writers", static_cast<double>(writers.writers));
  metrics->Set("writer_bytes", static_cast<double>(writers.held_bytes));
}

ExperimentFigures::ExperimentFigures(const ReplayStore* store, std::string experiment_id, Metrics* metrics)
    : store_(store), experiment_id_(std::move(experiment_id)), metrics_(metrics) {
  const std::vector<std::shared_ptr<Table>> tables = store_->TablesOf(experiment_id_);
  MutexLock lock(&mutex_);
  CountLocked(tables, nullptr);
}

void ExperimentFigures::Update() {
  MutexLock lock(&mutex_);
  const std::vector<std::shared_ptr<Table>> tables = store_->TablesOf(experiment_id_);
  CountLocked(tables, metrics_);
  SetTableGauges(tables, store_->WritersOf(experiment_id_), metrics_);
}

void ExperimentFigures::CountLocked(const std::vector<std::shared_ptr<Table>>& tables, Metrics* metrics) {
  std::vector<Counted> counted;
  Counted all;
  for (const std::shared_ptr<Table>& table : tables) {
    const Table::Info info = table->info();
    const auto before =
        std::find_if(counted_.begin(), counted_.end(), [&](const Counted& each) { return each.table.lock() == table; });
    all.inserted += info.items_inserted - (before == counted_.end() ? 0 : before->inserted);
    all.sampled += info.items_sampled - (before == counted_.end() ? 0 : before->sampled);
    counted.push_back({table, info.items_inserted, info.items_sampled});
  }
  counted_ = std::move(counted);
  if (metrics != nullptr) {
    metrics->Add("items_inserted", static_cast<double>(all.inserted));
    metrics->Add("items_sampled", static_cast<double>(all.sampled));
  }
}

}  // namespace waggle
