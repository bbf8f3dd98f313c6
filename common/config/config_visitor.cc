#include "common/config/config_visitor.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/problems.h"

namespace waggle {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// The names, in the order of the enumerators.
const std::vector<std::string>& Shapes() {
  static const auto* const names = new std::vector<std::string>{"constant", "linear", "step", "exponential", "cosine"};
  return *names;
}

const std::vector<std::string>& Clocks() {
  static const auto* const names = new std::vector<std::string>{"run", "learner_steps", "env_steps"};
  return *names;
}

template <class Enum>
void VisitEnum(const char* key, Enum* value, const std::vector<std::string>& names, ConfigVisitor* visitor) {
  std::string name = names[static_cast<size_t>(*value)];
  visitor->Choice(key, &name, names);
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      *value = static_cast<Enum>(i);
    }
  }
}

// A schedule that moves, as a section.
struct MovingSchedule {
  Schedule* schedule;
  Range range;
  std::optional<double> to;
  bool by_points = false;

  void Visit(ConfigVisitor& visitor) {
    by_points = visitor.IsGiven("points", !schedule->points.empty());
    if (by_points) {
      visitor.Points("points", &schedule->points, In(0, kUnbounded), range);
    }
    const auto applies = [&](const char* key) {
      return visitor.Applies(key, !by_points, "means nothing beside points; wanted none");
    };
    if (applies("from")) {
      visitor.Double("from", &schedule->from, range);
    }
    if (applies("to")) {
      visitor.OptionalDouble("to", &to, range);
    }
    if (applies("shape")) {
      VisitEnum("shape", &schedule->shape, Shapes(), &visitor);
    }
    VisitEnum("of", &schedule->of, Clocks(), &visitor);
    if (applies("start")) {
      visitor.Double("start", &schedule->start, In(0, kUnbounded));
    }
    if (applies("until")) {
      visitor.Double("until", &schedule->until, Above(0, kUnbounded));
    }
  }
  absl::Status Validate() const {
    if (by_points && schedule->points.empty()) {
      return absl::InvalidArgumentError("points: got none; wanted two or more");
    }
    if (by_points) {
      return ValidateSchedule(*schedule);
    }
    if (!to.has_value()) {
      return absl::InvalidArgumentError("to: is missing; wanted the value that the schedule ends at");
    }
    Schedule whole = *schedule;
    whole.to = *to;
    return ValidateSchedule(whole);
  }
};

struct IntEnds {
  int64_t* least;
  int64_t* most;
  Range range;

  void Visit(ConfigVisitor& visitor) {
    visitor.Int("min", least, range);
    visitor.Int("max", most, range);
  }
  absl::Status Validate() const {
    return *least <= *most ? absl::OkStatus()
                           : absl::InvalidArgumentError(
                                 absl::StrCat("min: ", *least, " is more than max: ", *most, "; wanted at most that"));
  }
};

}  // namespace

void ConfigVisitor::IntRange(const char* key, int64_t* least, int64_t* most, const Range& range) {
  switch (FormOf(key, *least != *most)) {
    case ScheduleForm::kAbsent:
      return;
    case ScheduleForm::kNumber: {
      Int(key, most, range);
      if (Reading()) {
        *least = *most;
      }
      return;
    }
    case ScheduleForm::kSection:
      break;
  }
  IntEnds ends{least, most, range};
  Section(key, &ends);
}

void ConfigVisitor::Schedule(const char* key, waggle::Schedule* value, const Range& range) {
  switch (FormOf(key, value->moves())) {
    case ScheduleForm::kAbsent:
      return;
    case ScheduleForm::kNumber: {
      double number = value->from;
      Double(key, &number, range);
      if (Reading()) {
        *value = waggle::Schedule(number);
      }
      return;
    }
    case ScheduleForm::kSection:
      break;
  }
  MovingSchedule moving{value, range, value->moves() ? std::make_optional(value->to) : std::nullopt, false};
  if (Reading()) {
    value->points.clear();
    value->shape = value->moves() ? value->shape : waggle::Schedule::Shape::kLinear;
  }
  Section(key, &moving);
  if (Reading()) {
    value->to = moving.to.value_or(value->from);
    *value = value->points.empty() ? *value : waggle::Schedule::Through(value->points, value->of);
  }
}

}  // namespace waggle
