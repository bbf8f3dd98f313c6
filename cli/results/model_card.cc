#include "cli/results/model_card.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "cli/human_text.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;

// The facts of a summary that a card tells.
struct Facts {
  std::string experiment;
  std::string algorithm;
  std::string environment;
  std::string outcome;
  int64_t seed = 0;
  double env_steps = 0;
  double learner_steps = 0;
  double seconds = 0;
  double mean = 0;
  double deviation = 0;
  int64_t episodes = 0;
  double result_steps = 0;
  bool confirmed = false;
  std::string waggle;
  std::string libtorch;
  std::string machine;
};

template <class T>
absl::Status Take(const Json& json, const char* key, T* value) {
  const auto found = json.find(key);
  bool fits = found != json.end();
  if constexpr (std::is_same_v<T, std::string>) {
    fits = fits && found->is_string();
  } else if constexpr (std::is_same_v<T, bool>) {
    fits = fits && found->is_boolean();
  } else {
    fits = fits && found->is_number();
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        key, ": got ", found == json.end() ? "nothing" : found->dump(-1, ' ', true, Json::error_handler_t::replace),
        "; wanted ",
        std::is_same_v<T, std::string> ? "a text"
        : std::is_same_v<T, bool>      ? "true or false"
                                       : "a number"));
  }
  *value = found->get<T>();
  return absl::OkStatus();
}

std::string TextOr(const Json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  return json.is_object() && found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

absl::StatusOr<Facts> FactsOf(const Json& summary) {
  if (!summary.is_object()) {
    return absl::InvalidArgumentError("the file is no JSON object; wanted the summary of a run");
  }
  Facts facts;
  WAGGLE_RETURN_IF_ERROR(Take(summary, "experiment", &facts.experiment));
  WAGGLE_RETURN_IF_ERROR(Take(summary, "algorithm", &facts.algorithm));
  WAGGLE_RETURN_IF_ERROR(Take(summary, "environment", &facts.environment));
  WAGGLE_RETURN_IF_ERROR(Take(summary, "outcome", &facts.outcome));
  WAGGLE_RETURN_IF_ERROR(Take(summary, "seed", &facts.seed));
  WAGGLE_RETURN_IF_ERROR(Take(summary, "env_steps", &facts.env_steps));
  WAGGLE_RETURN_IF_ERROR(Take(summary, "learner_steps", &facts.learner_steps));
  WAGGLE_RETURN_IF_ERROR(Take(summary, "wall_seconds", &facts.seconds));
  const auto result = summary.find("result");
  if (result == summary.end() || !result->is_object()) {
    return absl::FailedPreconditionError("the run has no result: no evaluation of its weights has counted");
  }
  WAGGLE_RETURN_IF_ERROR(Take(*result, "mean_return", &facts.mean));
  WAGGLE_RETURN_IF_ERROR(Take(*result, "standard_deviation", &facts.deviation));
  WAGGLE_RETURN_IF_ERROR(Take(*result, "episodes", &facts.episodes));
  WAGGLE_RETURN_IF_ERROR(Take(*result, "env_steps", &facts.result_steps));
  WAGGLE_RETURN_IF_ERROR(Take(*result, "confirmed", &facts.confirmed));
  if (const auto software = summary.find("software"); software != summary.end()) {
    facts.waggle = TextOr(*software, "waggle");
    facts.libtorch = TextOr(*software, "libtorch");
  }
  facts.machine = TextOr(summary, "machine");
  return facts;
}

// A text as a YAML scalar in double quotes, whose escapes are those of JSON.
std::string Quoted(const std::string& text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

// A text inside a line of Markdown.
std::string Inline(const std::string& text) {
  std::string escaped;
  for (const char c : Printable(text)) {
    if (absl::StrContains("\\`*_[]<>|#", absl::string_view(&c, 1))) {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

std::string FrontMatter(const Facts& facts) {
  std::string text = kCardBeginning;
  absl::StrAppend(&text, "tags:\n");
  for (const std::string& tag : {facts.environment, facts.algorithm, std::string("deep-reinforcement-learning"),
                                 std::string("reinforcement-learning"), std::string("waggle")}) {
    absl::StrAppend(&text, "- ", Quoted(tag), "\n");
  }
  absl::StrAppend(&text, "model-index:\n- name: ", Quoted(facts.experiment),
                  "\n"
                  "  results:\n"
                  "  - task:\n"
                  "      type: reinforcement-learning\n"
                  "      name: reinforcement-learning\n"
                  "    dataset:\n"
                  "      name: ",
                  Quoted(facts.environment), "\n      type: ", Quoted(facts.environment),
                  "\n"
                  "    metrics:\n"
                  "    - type: mean_reward\n"
                  "      name: mean_reward\n"
                  "      value: ",
                  Quoted(absl::StrFormat("%.2f +/- %.2f", facts.mean, facts.deviation)),
                  "\n      verified: false\n---\n");
  return text;
}

std::string ResultTable(const Facts& facts) {
  const double error = facts.deviation / std::sqrt(static_cast<double>(std::max<int64_t>(1, facts.episodes)));
  std::string text = "| | |\n|---|---|\n";
  const auto row = [&text](const char* name, const std::string& value) {
    absl::StrAppend(&text, "| ", name, " | ", value, " |\n");
  };
  row("mean return", absl::StrFormat("%.2f, standard error %.2f, over %d episodes of the greedy policy", facts.mean,
                                     error, facts.episodes));
  row("chosen by", facts.confirmed ? "an earlier evaluation; this one is over fresh episodes"
                                   : "this evaluation, as the best of many: expect a little less");
  row("weights after", absl::StrFormat("%.0f environment steps", facts.result_steps));
  row("run", absl::StrFormat("%s after %.0f environment steps, %.0f learner steps and %s", Inline(facts.outcome),
                             facts.env_steps, facts.learner_steps, ShortDuration(absl::Seconds(facts.seconds))));
  row("seed", absl::StrCat(facts.seed));
  if (!facts.waggle.empty()) {
    row("software", absl::StrCat("Waggle ", Inline(facts.waggle),
                                 facts.libtorch.empty() ? "" : absl::StrCat(", LibTorch ", Inline(facts.libtorch))));
  }
  if (!facts.machine.empty()) {
    row("machine", Inline(facts.machine));
  }
  return text;
}

// A fence that the text does not contain.
std::string FenceFor(const std::string& text) {
  std::string fence = "```";
  while (absl::StrContains(text, fence)) {
    fence += '`';
  }
  return fence;
}

std::string UseText(const CardContents& contents) {
  std::string text = R"(## Use

In this folder, with Waggle:

```
waggle evaluate . --episodes 100
```

```python
import waggle

policy = waggle.load(".")
action, state = policy.act(observation)
```
)";
  if (contents.has_policy) {
    absl::StrAppend(&text, R"(
`policy.onnx` is the greedy policy with its preprocessing, for any program that runs ONNX:

```python
import onnxruntime

session = onnxruntime.InferenceSession("policy.onnx")
print([(one.name, one.shape) for one in session.get_inputs()], [one.name for one in session.get_outputs()])
```
)");
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> ModelCard(const Json& summary, const CardContents& contents) {
  WAGGLE_ASSIGN_OR_RETURN(const Facts facts, FactsOf(summary));
  std::string text = FrontMatter(facts);
  absl::StrAppend(&text, "\n# ", Inline(facts.experiment), ": ", Inline(facts.algorithm), " on ",
                  Inline(facts.environment), "\n\n", ResultTable(facts), "\n");
  for (const std::string& film : contents.films) {
    absl::StrAppend(&text, absl::EndsWith(film, ".mp4") ? "[" : "![", "an episode](", film, ")\n\n");
  }
  if (contents.has_curves) {
    absl::StrAppend(&text, "![returns, rates and policy lag](curves.png)\n\n");
  }
  absl::StrAppend(&text, UseText(contents), "\n## Train again\n\n```\nwaggle run experiment.yaml\n```\n\n",
                  "`experiment.yaml` has every value, with the seed:\n\n");
  const std::string fence = FenceFor(contents.experiment_yaml);
  absl::StrAppend(&text, fence, "yaml\n", contents.experiment_yaml,
                  absl::EndsWith(contents.experiment_yaml, "\n") ? "" : "\n", fence, "\n");
  return text;
}

}  // namespace waggle
