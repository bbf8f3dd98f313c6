// An algorithm's ranges of its options: every number is set to the ends of its range and just beyond.

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/config/field_checker.h"
#include "tests/conformance/fields.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

// All checks of options by themselves: Check of options whose type is known.
absl::Status CheckOptions(AlgorithmOptions* options) {
  FieldChecker checker;
  options->Visit(checker);
  return checker.status().ok() ? options->Validate() : checker.status();
}

using Choices = std::map<std::string, std::string>;

// A number among the options, and the choices with which the field exists.
struct NumberField {
  FieldWalk::Number number;
  std::vector<Choices> with;
};

FieldWalk WalkOver(const std::string& algorithm, const Choices& choices) {
  FieldWalk walk;
  walk.given_choices = choices;
  ValueOf(Definitions().Find(algorithm))->new_options()->Visit(walk);
  return walk;
}

// Every number that the options have by default, or with another choice of one field, by path.
std::map<std::string, NumberField> NumbersOf(const std::string& algorithm) {
  std::vector<Choices> choices = {{}};
  for (const auto& [path, field] : WalkOver(algorithm, {}).choices) {
    for (const std::string& value : field.values) {
      choices.push_back({{path, value}});
    }
  }
  std::map<std::string, NumberField> numbers;
  for (const Choices& chosen : choices) {
    for (const auto& [path, number] : WalkOver(algorithm, chosen).numbers) {
      numbers[path].number = number;
      numbers[path].with.push_back(chosen);
    }
  }
  return numbers;
}

// The result of the file's reader, and that of the check of options in code.
struct Verdicts {
  absl::StatusOr<Experiment> read;
  absl::Status checked;
};

// A field, and its given value.
struct Given {
  std::string path;
  FieldWalk::Number number;
  double value = 0;
};

Verdicts Try(const std::string& algorithm, const Choices& choices, const std::vector<Given>& numbers) {
  FieldWalk walk;
  walk.given_choices = choices;
  for (const Given& given : numbers) {
    walk.given_numbers[given.path] = given.value;
  }
  const std::unique_ptr<AlgorithmOptions> options = ValueOf(Definitions().Find(algorithm))->new_options();
  options->Visit(walk);
  Overrides overrides;
  for (const auto& [choice, chosen] : choices) {
    overrides.emplace_back("algorithm." + choice, chosen);
  }
  for (const Given& given : numbers) {
    overrides.emplace_back("algorithm." + given.path, TextOf(given.number, given.value));
  }
  return {Parse(algorithm, overrides), CheckOptions(options.get())};
}

// The experiment with this value and some choice of the other options, or an end of another number if the two bound
// each other.
absl::StatusOr<Experiment> Accepted(const std::string& algorithm, const std::map<std::string, NumberField>& fields,
                                    const Given& given, const std::vector<Choices>& with) {
  for (const Choices& choices : with) {
    const Verdicts verdicts = Try(algorithm, choices, {given});
    REQUIRE(verdicts.read.ok() == verdicts.checked.ok());
    if (verdicts.read.ok()) {
      return verdicts.read;
    }
  }
  for (const auto& [path, other] : fields) {
    for (const double end : EndsOf(other.number).inside) {
      Verdicts verdicts = Try(algorithm, other.with[0], {given, {path, other.number, end}});
      REQUIRE(verdicts.read.ok() == verdicts.checked.ok());
      if (path != given.path && verdicts.read.ok()) {
        return std::move(verdicts.read);
      }
    }
  }
  return absl::InvalidArgumentError("refused with all else");
}

TEST_CASE("an algorithm has a description, and defaults that are valid by themselves", "[unit]") {
  for (const std::string& algorithm : Algorithms()) {
    INFO(algorithm);
    CHECK_FALSE(ValueOf(Definitions().Find(algorithm))->description.empty());
    REQUIRE_OK(CheckOptions(ValueOf(Definitions().Find(algorithm))->new_options().get()));
    const Experiment experiment = ValueOf(Parse(algorithm));
    CHECK(ToYaml(ValueOf(ParseExperiment(ToYaml(experiment), "again.yaml", {}, Definitions()))) == ToYaml(experiment));
    CHECK_FALSE(WalkOver(algorithm, {}).numbers.empty());
  }
}

TEST_CASE("a value just inside an option's range is accepted, with some choice of the others, and survives YAML",
          "[unit]") {
  for (const std::string& algorithm : Algorithms()) {
    const std::map<std::string, NumberField> fields = NumbersOf(algorithm);
    for (const auto& [path, field] : fields) {
      for (const double value : EndsOf(field.number).inside) {
        INFO(algorithm << ", " << path << " = " << TextOf(field.number, value));
        const absl::StatusOr<Experiment> accepted =
            Accepted(algorithm, fields, {path, field.number, value}, field.with);
        REQUIRE_OK(accepted.status());
        const std::string yaml = ToYaml(*accepted);
        CHECK(ToYaml(ValueOf(ParseExperiment(yaml, "again.yaml", {}, Definitions()))) == yaml);
      }
    }
  }
}

TEST_CASE("a value just outside an option's range is refused in a file and in code", "[unit]") {
  for (const std::string& algorithm : Algorithms()) {
    for (const auto& [path, field] : NumbersOf(algorithm)) {
      for (const double value : EndsOf(field.number).outside) {
        INFO(algorithm << ", " << path << " = " << TextOf(field.number, value));
        const Verdicts verdicts = Try(algorithm, field.with[0], {{path, field.number, value}});
        REQUIRE_CODE(verdicts.checked, absl::StatusCode::kInvalidArgument);
        CHECK(absl::StartsWith(verdicts.checked.message(), path));
        REQUIRE_CODE(verdicts.read, absl::StatusCode::kInvalidArgument);
      }
    }
  }
}

TEST_CASE("a kind of environment that an algorithm does not claim is refused by both names", "[unit]") {
  for (const std::string& algorithm : Algorithms()) {
    for (const TinyKind kind : TinyKinds()) {
      INFO(algorithm << " in " << Name(kind));
      const AlgorithmDefinition& definition = *ValueOf(Definitions().Find(algorithm));
      if (!Claims(definition, kind)) {
        const absl::Status status = CheckAgainstEnvironment(ValueOf(Parse(algorithm)), SpecOf(kind), Definitions());
        REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
        CHECK(absl::StrContains(status.message(), algorithm));
        CHECK(absl::StrContains(status.message(), Name(kind)));
      }
    }
  }
}

TEST_CASE("a core is for tables of sequences and no own policy, and else refused with the network's name", "[unit]") {
  for (const Subject& subject : Subjects()) {
    if (subject.Remembers()) {
      continue;
    }
    INFO(subject.Text());
    const EnvironmentSpec environment = SpecOf(subject.kind);
    const ExperimentPlan plan = ValueOf(PlanExperiment(SmallExperiment(subject), environment, Definitions()));
    const auto fits = [](const AlgorithmPlan& algorithm) {
      return !algorithm.own_policy &&
             std::none_of(algorithm.tables.begin(), algorithm.tables.end(),
                          [](const TablePlan& table) { return table.window.kind == WindowPlan::Kind::kNStep; });
    };
    const absl::StatusOr<ExperimentPlan> remembering =
        PlanExperiment(SmallExperiment({subject.algorithm, subject.kind, "lstm"}), environment, Definitions());
    if (remembering.ok()) {
      CHECK(fits(remembering->algorithm));  // It may have other tables with a core than without.
    } else {
      CHECK_FALSE(fits(plan.algorithm));
      REQUIRE_CODE(remembering.status(), absl::StatusCode::kInvalidArgument);
      CHECK(
          absl::StartsWith(remembering.status().message(), absl::StrCat("networks.", plan.acting()[0]->name, ".core")));
    }
  }
}

}  // namespace
}  // namespace waggle::testing
