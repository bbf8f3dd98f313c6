#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/threads/mutex.h"
#include "common/hub/ports/model.h"
#include "common/nn/torch.h"
#include "common/replay/ports/replay.h"
#include "common/rl/training/trainee.h"
#include "tests/learner/scripted_publisher.h"
#include "tests/support/catch.h"

namespace waggle::testing {

inline TableConfig FakeTable() {
  TableConfig table;
  table.name = "items";
  table.signature = {ArraySpec{"value", DType::kFloat32, {}}};
  table.view = {{"value", "value", ViewField::Rows::kFirst}};
  table.rate_limiter.min_items = 1;
  table.max_items = 1000;
  table.max_bytes = 1 << 20;
  return table;
}

// A batch whose item i has the key first_key + i, twice that as its generation, and its key as its value.
inline SampledBatch FakeBatch(int64_t size, int64_t first_key, int64_t policy_version) {
  SampledBatch batch;
  batch.layout = std::make_shared<BatchLayout>(ValueOf(MakeBatchLayout(FakeTable(), size, 1 << 20)));
  batch.bytes = AllocateBytes(batch.layout->total_bytes);
  std::memset(batch.bytes.get(), 0, batch.layout->total_bytes);
  batch.table_items = 100;
  const auto fill = [&](const char* name, auto value_of) {
    char* const data = batch.bytes.get() + ValueOf(batch.layout->Find(name))->offset;
    for (int64_t i = 0; i < size; ++i) {
      const auto value = value_of(first_key + i);
      std::memcpy(data + static_cast<size_t>(i) * sizeof(value), &value, sizeof(value));
    }
  };
  fill("value", [](int64_t key) { return static_cast<float>(key); });
  fill(kItemKey, [](int64_t key) { return key; });
  fill(kItemGeneration, [](int64_t key) { return 2 * key; });
  fill(kItemPolicyVersion, [policy_version](int64_t) { return policy_version; });
  fill(kItemProbability, [](int64_t) { return 0.01; });
  return batch;
}

// Gives batches of 4 items with new keys, made by version 0. After `batches` of them it returns `end` or, if that is
// OK, waits for a stop.
class FakeSampler : public ReplaySampler {
 public:
  absl::StatusOr<SampledBatch> Next(const StopToken& stop) override {
    if (static_cast<int64_t>(stats().batches) >= batches) {
      if (!end.ok()) {
        return end;
      }
      if (stop_when_done) {
        stop.RequestStop();
      }
      SetWaiting(true);
      if (on_wait != nullptr) {
        on_wait();
      }
      stop.Wait();
      SetWaiting(false);
      return absl::CancelledError("stopped");
    }
    if (stats().batches == 0 && before_first != nullptr) {
      before_first();
    }
    int64_t batch = 0;
    {
      MutexLock lock(&mutex_);
      batch = static_cast<int64_t>(stats_.batches++);
    }
    return FakeBatch(4, 4 * batch, policy_version != nullptr ? policy_version(batch) : 0);
  }
  Stats stats() const override {
    MutexLock lock(&mutex_);
    return stats_;
  }

  int64_t batches = 1'000'000;
  absl::Status end;
  bool stop_when_done = false;
  std::function<void()> before_first;  // Called before the first batch.
  std::function<int64_t(int64_t batch)> policy_version;
  std::function<void()> on_wait;

 private:
  void SetWaiting(bool waiting) {
    MutexLock lock(&mutex_);
    stats_.waiting = waiting;
  }

  mutable Mutex mutex_;
  Stats stats_ ABSL_GUARDED_BY(mutex_);
};

class RecordingUpdater : public PriorityUpdater {
 public:
  absl::Status Update(std::vector<uint64_t> keys, std::vector<uint64_t> generations,
                      std::vector<double> priorities) override {
    for (size_t i = 0; i < keys.size(); ++i) {
      items.push_back({keys[i], generations[i], priorities[i]});
    }
    sizes.push_back(keys.size());
    counts_.applied += keys.size();
    return result;
  }
  absl::Status Flush(absl::Duration) override { return absl::OkStatus(); }
  PriorityUpdateCounts counts() const override { return counts_; }

  struct Item {
    uint64_t key;
    uint64_t generation;
    double priority;
  };
  std::vector<Item> items;
  std::vector<size_t> sizes;
  absl::Status result;

 private:
  PriorityUpdateCounts counts_;
};

// Counts its updates in a tensor and in a number; new priorities are the items' values.
class CountingTrainee : public Trainee {
 public:
  absl::StatusOr<UpdateResult> Update(absl::Span<const TensorBatch* const> batches, const Progress& now,
                                      Stepper*) override {
    if (updates == fail_at) {
      return absl::InvalidArgumentError("the loss is not finite");
    }
    ++updates;
    progress = now;
    value += 1;
    UpdateResult result;
    for (const TensorBatch* const batch : batches) {
      result.priorities.push_back(batch != nullptr ? batch->at("value").clone() : torch::Tensor());
    }
    result.metrics = {{"loss", value[0].clone()}};
    return result;
  }
  absl::StatusOr<ModelSnapshot> Publish() override {
    ModelSnapshot snapshot;
    snapshot.model = "counting";
    return snapshot;
  }
  absl::Status LoadPublished(const ModelSnapshot& snapshot) override {
    if (snapshot.model != "counting") {
      return absl::FailedPreconditionError("weights of another network");
    }
    updates = static_cast<int64_t>(snapshot.version.version);
    return absl::OkStatus();
  }
  void SetEvaluatedRewards(const std::vector<double>& rewards) override { evaluated.push_back(rewards); }
  absl::StatusOr<std::string> Set(const std::string& given) override {
    settings.emplace_back(updates, given);
    return absl::StrCat("an experiment with ", given);
  }
  void VisitState(StateVisitor* visitor) override {
    visitor->Tensor("value", &value);
    visitor->Scope("inner", [&] {
      visitor->Int("updates", &updates);
      visitor->Double("rate", &rate);
      visitor->String("note", &note);
      visitor->Generator("generator", &generator);
    });
  }

  torch::Tensor value = torch::zeros({2});
  int64_t updates = 0;
  int64_t fail_at = -1;
  Progress progress;  // At the last update.
  // Settings, each with the updates before it.
  std::vector<std::vector<double>> evaluated;  // Those given before each update.
  std::vector<std::pair<int64_t, std::string>> settings;
  double rate = 0.1;
  std::string note = "one\ntwo";
  Rng generator = Rng(3);
};

}  // namespace waggle::testing
