#include "actor/importing/episode_importer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "actor/acting/action_scaling.h"
#include "actor/environments/action_checker.h"
#include "actor/environments/element_access.h"
#include "actor/environments/leaf_arrays.h"
#include "actor/environments/leaf_elements.h"
#include "common/base/annotate.h"
#include "common/base/problems.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

// The place of each stream column of an environment among a source's columns.
class SourceColumns {
 public:
  // The source must have passed CheckSource.
  SourceColumns(const EpisodeSource& source, const EnvironmentSpec& environment)
      : specs_(StreamColumns(environment, {})), environment_(environment) {
    for (const ArraySpec& column : specs_) {
      const auto found = std::find(source.columns().begin(), source.columns().end(), column);
      places_.push_back(static_cast<size_t>(found - source.columns().begin()));
    }
  }

  const std::vector<ArraySpec>& specs() const { return specs_; }
  const char* At(const RecordedRows& rows, size_t column, int64_t row) const {
    return rows.columns[places_[column]] + row * specs_[column].NumBytes();
  }
  StepType StepTypeAt(const RecordedRows& rows, int64_t row) const {
    return static_cast<StepType>(ElementAt<int32_t>(At(rows, specs_.size() - 1, row)));
  }
  size_t first_action() const { return environment_.observations.size(); }
  size_t first_reward() const { return first_action() + environment_.actions.size(); }
  size_t discount() const { return specs_.size() - 2; }

 private:
  const std::vector<ArraySpec> specs_;
  const EnvironmentSpec& environment_;
  std::vector<size_t> places_;
};

// Rows have actions as a policy chooses them. Scaled ones are clamped, so that every number is right.
EnvironmentSpec WithPolicysBounds(EnvironmentSpec environment) {
  for (SpaceLeaf& action : environment.actions) {
    if (IsScaledAction(action)) {
      action.low.clear();
      action.high.clear();
    }
  }
  return environment;
}

template <class Float>
bool AreFinite(const char* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(ElementAt<Float>(values, i))) {
      return false;
    }
  }
  return true;
}

// Checks rows, one after the other.
class EpisodeCheck {
 public:
  EpisodeCheck(const SourceColumns& columns, const EnvironmentSpec& environment)
      : columns_(columns), environment_(environment), actions_(WithPolicysBounds(environment)) {}

  absl::Status Add(const RecordedRows& rows, int64_t row) {
    const absl::Status status = Check(rows, row);
    ++row_;
    return Annotate(status, absl::StrCat("row ", row_ - 1, ", of episode ", counts_.episodes));
  }

  absl::StatusOr<RecordedCounts> End() const {
    if (in_episode_) {
      return absl::InvalidArgumentError(absl::StrCat("its last episode, number ", counts_.episodes,
                                                     ", has no end; wanted a last row with step_type 2"));
    }
    if (counts_.episodes == 0) {
      return absl::InvalidArgumentError("it has no episodes; wanted at least one");
    }
    return counts_;
  }

 private:
  absl::Status Check(const RecordedRows& rows, int64_t row) {
    const StepType type = columns_.StepTypeAt(rows, row);
    const bool begins = type == StepType::kFirst;
    if ((type != StepType::kFirst && type != StepType::kMid && type != StepType::kLast) || begins == in_episode_) {
      return absl::InvalidArgumentError(absl::StrCat("step_type: got ", static_cast<int32_t>(type), "; wanted ",
                                                     in_episode_ ? "1 or 2, within an episode" : "0, for a first row"));
    }
    in_episode_ = type != StepType::kLast;
    for (size_t i = 0; i < environment_.observations.size(); ++i) {
      WAGGLE_RETURN_IF_ERROR(CheckObservation(environment_.observations[i], columns_.At(rows, i, row)));
    }
    for (size_t i = columns_.first_action(); i < columns_.specs().size(); ++i) {
      const ArraySpec& spec = columns_.specs()[i];
      const char* const values = columns_.At(rows, i, row);
      const bool finite = spec.dtype == DType::kFloat32   ? AreFinite<float>(values, spec.NumElements())
                          : spec.dtype == DType::kFloat64 ? AreFinite<double>(values, spec.NumElements())
                                                          : true;
      if (!finite) {
        return absl::InvalidArgumentError(
            absl::StrCat(spec.name, ": got a number that is not finite; wanted finite ones"));
      }
    }
    if (!in_episode_) {
      ++counts_.episodes;
      return absl::OkStatus();  // The last row has no action.
    }
    ++counts_.steps;
    return CheckStep(rows, row);
  }

  absl::Status CheckStep(const RecordedRows& rows, int64_t row) {
    const auto discount = ElementAt<float>(columns_.At(rows, columns_.discount(), row));
    if (discount < 0 || discount > 1) {
      return absl::InvalidArgumentError(absl::StrCat("discount: got ", discount, "; wanted 0 to 1"));
    }
    std::vector<void*> observations;
    for (size_t i = 0; i < environment_.observations.size(); ++i) {
      observations.push_back(const_cast<char*>(columns_.At(rows, i, row)));
    }
    actions_.SeeMasks(observations);
    std::vector<const void*> actions;
    for (size_t i = 0; i < environment_.actions.size(); ++i) {
      actions.push_back(columns_.At(rows, columns_.first_action() + i, row));
    }
    return actions_.Check(actions);
  }

  const SourceColumns& columns_;
  const EnvironmentSpec& environment_;
  ActionChecker actions_;
  int64_t row_ = 0;
  bool in_episode_ = false;
  RecordedCounts counts_;
};

}  // namespace

absl::Status CheckSource(const EpisodeSource& source, const EnvironmentSpec& environment) {
  Problems problems;
  for (const ArraySpec& column : StreamColumns(environment, {})) {
    const auto named = std::find_if(source.columns().begin(), source.columns().end(),
                                    [&](const ArraySpec& other) { return other.name == column.name; });
    problems.AddUnless(named != source.columns().end(), "it has no column ", column.name, "; wanted ",
                       column.DebugString());
    problems.AddUnless(named == source.columns().end() || *named == column, "got ",
                       named == source.columns().end() ? "" : named->DebugString(), "; wanted ", column.DebugString());
  }
  if (source.environment().has_value()) {
    problems.AddIfBad("", CheckSameSpaces(*source.environment(), environment));
  }
  return problems.ToStatus();
}

absl::StatusOr<RecordedCounts> CheckEpisodes(EpisodeSource* source, const EnvironmentSpec& environment,
                                             const StopToken& stop) {
  const SourceColumns columns(*source, environment);
  EpisodeCheck check(columns, environment);
  while (true) {
    if (stop.StopRequested()) {
      return absl::CancelledError("stopped while checking recorded episodes");
    }
    WAGGLE_ASSIGN_OR_RETURN(const std::optional<RecordedRows> rows, source->Next());
    if (!rows.has_value()) {
      WAGGLE_RETURN_IF_ERROR(source->Rewind());
      return check.End();
    }
    for (int64_t row = 0; row < rows->rows; ++row) {
      WAGGLE_RETURN_IF_ERROR(check.Add(*rows, row));
    }
  }
}

absl::Status ImportEpisodes(EpisodeSource* source, const EnvironmentSpec& environment, int64_t lanes,
                            TrajectoryWriter* writer, const StopToken& stop) {
  const SourceColumns columns(*source, environment);
  const LeafArrays arrays(columns.specs(), lanes);
  const std::vector<void*>& pointers = arrays.pointers();
  const std::vector<const void*> observations(pointers.begin(),
                                              pointers.begin() + static_cast<int64_t>(columns.first_action()));
  const std::vector<const void*> actions(pointers.begin() + static_cast<int64_t>(columns.first_action()),
                                         pointers.begin() + static_cast<int64_t>(columns.first_reward()));
  std::vector<const float*> rewards;
  for (size_t i = columns.first_reward(); i < columns.discount(); ++i) {
    rewards.push_back(static_cast<const float*>(pointers[i]));
  }
  LaneRows written;
  written.observations = observations;
  written.actions = actions;
  written.rewards = rewards;
  written.discounts = static_cast<const float*>(pointers[columns.discount()]);
  written.step_types = static_cast<const int32_t*>(pointers.back());
  int64_t lane = 0;
  while (true) {
    WAGGLE_ASSIGN_OR_RETURN(const std::optional<RecordedRows> rows, source->Next());
    if (!rows.has_value()) {
      return writer->Flush(0, stop);
    }
    for (int64_t row = 0; row < rows->rows; ++row) {
      std::vector<const void*> from;
      for (size_t i = 0; i < pointers.size(); ++i) {
        from.push_back(columns.At(*rows, i, row));
      }
      arrays.CopyRow(from, 0, static_cast<size_t>(lane));
      WAGGLE_RETURN_IF_ERROR(writer->Append({lane}, written));
      if (writer->BlockIsFull()) {
        WAGGLE_RETURN_IF_ERROR(writer->Flush(0, stop));
      }
      lane = columns.StepTypeAt(*rows, row) == StepType::kLast ? (lane + 1) % lanes : lane;
    }
  }
}

}  // namespace waggle
