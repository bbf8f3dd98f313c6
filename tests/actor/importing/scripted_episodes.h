#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actor/importing/episode_source.h"
#include "actor/writing/trajectory_writer.h"

namespace waggle::testing {

// One row of a scripted episode: an observation of one number and one of three choices.
struct ScriptedRow {
  StepType type = StepType::kMid;
  float observation = 0;
  int64_t action = 0;
  float reward = 0;
  float discount = 1;
};

inline EnvironmentSpec ScriptedSpec() {
  EnvironmentSpec environment;
  environment.name = "Scripted";
  environment.observations = {Box("observation", DType::kFloat32, {1})};
  environment.actions = {Discrete("action", 3)};
  return environment;
}

// Episodes of these lengths, in steps. The observation counts rows, and each step's action, reward and discount follow
// from it.
inline std::vector<ScriptedRow> ScriptedRows(const std::vector<int64_t>& lengths) {
  std::vector<ScriptedRow> rows;
  for (const int64_t length : lengths) {
    for (int64_t step = 0; step <= length; ++step) {
      const auto number = static_cast<float>(rows.size());
      const StepType type = step == 0 ? StepType::kFirst : step == length ? StepType::kLast : StepType::kMid;
      rows.push_back(
          {type, number, static_cast<int64_t>(rows.size()) % 3, 10 * number, step + 1 == length ? 0.F : 1.F});
    }
  }
  return rows;
}

// These rows, in blocks of up to three, with columns in another order than a stream's.
class ScriptedEpisodes final : public EpisodeSource {
 public:
  explicit ScriptedEpisodes(std::vector<ScriptedRow> script) : rows_(std::move(script)) {
    const std::vector<ArraySpec> stream = StreamColumns(ScriptedSpec(), {});
    columns_.assign(stream.rbegin(), stream.rend());
  }

  const std::string& name() const override { return name_; }
  const std::vector<ArraySpec>& columns() const override { return columns_; }
  const std::optional<EnvironmentSpec>& environment() const override { return spec_; }

  // Changes of the facts that the source gives about itself.
  std::vector<ArraySpec>* mutable_columns() { return &columns_; }
  void SetEnvironment(EnvironmentSpec spec) { spec_ = std::move(spec); }

  absl::StatusOr<std::optional<RecordedRows>> Next() override {
    if (next_ == rows_.size()) {
      return std::optional<RecordedRows>();
    }
    const size_t end = std::min(next_ + 3, rows_.size());
    RecordedRows block;
    block.rows = static_cast<int64_t>(end - next_);
    bytes_.clear();
    for (const ArraySpec& column : columns_) {
      std::string& bytes = bytes_[column.name];
      for (size_t row = next_; row < end; ++row) {
        Append(column.name, rows_[row], &bytes);
      }
    }
    for (const ArraySpec& column : columns_) {
      block.columns.push_back(bytes_[column.name].data());
    }
    next_ = end;
    return block;
  }
  absl::Status Rewind() override {
    next_ = 0;
    return absl::OkStatus();
  }

 private:
  template <class Element>
  static void AppendElement(Element element, std::string* bytes) {
    bytes->append(reinterpret_cast<const char*>(&element), sizeof(element));
  }
  static void Append(const std::string& column, const ScriptedRow& row, std::string* bytes) {
    if (column == "observation") {
      AppendElement(row.observation, bytes);
    } else if (column == "action") {
      AppendElement(row.action, bytes);
    } else if (column == "reward") {
      AppendElement(row.reward, bytes);
    } else if (column == "discount") {
      AppendElement(row.discount, bytes);
    } else {
      AppendElement(static_cast<int32_t>(row.type), bytes);
    }
  }

  const std::string name_ = "scripted";
  const std::vector<ScriptedRow> rows_;
  std::vector<ArraySpec> columns_;
  std::optional<EnvironmentSpec> spec_;
  size_t next_ = 0;
  std::map<std::string, std::string> bytes_;
};

}  // namespace waggle::testing
