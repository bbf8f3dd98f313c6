// Environments of Python through the local door beside the bare Python loop over the same environment, each for a
// second by turns. The interpreter is the PATH's python3; environments that it lacks are left out.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "actor/acting/random_actions.h"
#include "actor/environments/open_environment.h"
#include "common/base/check.h"
#include "tests/bench/bench.h"

namespace waggle::bench {
namespace {

constexpr absl::Duration kMeasured = absl::Seconds(1);
// A small network's time for a batch.
constexpr absl::Duration kPolicy = absl::Microseconds(60);

struct Subject {
  std::string name;
  std::string id;
  std::string kwargs = "{}";
  std::string wrappers = "[]";
  std::string vector = "false";
  int64_t lanes = 1;
  std::string bare;  // Python code that creates the environment `e`.
};

// The number that a Python program prints; negative if the program fails.
double RunPython(const std::string& program) {
  const std::string command = absl::StrCat("OMP_NUM_THREADS=1 python3 -W ignore -c '", program, "' 2>/dev/null");
  FILE* const output = popen(command.c_str(), "r");
  char text[64] = "";
  const bool read = output != nullptr && fgets(text, sizeof(text), output) != nullptr;
  const bool ended = output != nullptr && pclose(output) == 0;
  return read && ended ? std::atof(text) : -1;
}

double BareStepsPerSecond(const Subject& subject) {
  const bool vector = subject.vector == "true";
  const std::string lanes = absl::StrCat(subject.lanes);
  return RunPython(absl::StrCat(
      "import time, gymnasium\n", subject.bare, "\ne.reset(seed=1)\ne.action_space.seed(1)\n",
      "actions = [e.action_space.sample() for _ in range(1000)]\nend = time.perf_counter() + 1\nn = 0\n",
      "while time.perf_counter() < end:\n    for a in actions[:", vector ? "100" : "1000", "]:\n",
      vector ? "        e.step(a)\n" : "        _, _, t, u, _ = e.step(a)\n        if t or u: e.reset()\n",
      "    n += ", vector ? absl::StrCat("100 * ", lanes) : "1000", "\nprint(n / (time.perf_counter() - end + 1))"));
}

double StepsPerSecond(const Subject& subject) {
  EnvironmentOptions options;
  options.gymnasium.id = subject.id;
  options.gymnasium.kwargs = subject.kwargs;
  options.gymnasium.wrappers = subject.wrappers;
  options.gymnasium.vector = subject.vector;
  LaneOptions lanes;
  lanes.lanes = subject.lanes;
  auto opened = OpenEnvironment(BuiltinEnvironments(), options, lanes, Rng(1), StopToken());
  WAGGLE_CHECK(opened.ok(), "the environment can be had");
  VectorEnvironment* const environment = opened->get();
  RandomActions actions(environment->spec(), subject.lanes, Rng(1));
  WAGGLE_CHECK(environment->Reset().ok(), "the environment can be reset");
  // The bare loop's time leaves its first reset out too.
  absl::StatusOr<ReadyLanes> ready = environment->Recv(subject.lanes, StopToken());
  int64_t steps = 0;
  const absl::Time began = absl::Now();
  absl::Time now = began;
  while (now - began < kMeasured) {
    WAGGLE_CHECK(ready.ok(), "the environment can be stepped");
    for (const absl::Time end = absl::Now() + kPolicy; absl::Now() < end;) {
    }
    WAGGLE_CHECK(environment->Send(ready->lanes, actions.Draw(*ready)).ok(), "the environment can be stepped");
    ready = environment->Recv(1, StopToken());
    WAGGLE_CHECK(ready.ok(), "the environment can be stepped");
    steps += static_cast<int64_t>(ready->lanes.size());
    now = absl::Now();
  }
  return static_cast<double>(steps) / absl::ToDoubleSeconds(now - began);
}

Result Measure(const Subject& subject) {
  double bare = 0;
  Result result = BestRate(
      [&] {
        bare = std::max(bare, BareStepsPerSecond(subject));
        return StepsPerSecond(subject);
      },
      "steps/s", 1, "the bare Python loop");
  result.limit = bare;
  return result;
}

int Main(int argc, char** argv) {
  const std::string make = "e = gymnasium.make(\"";
  std::vector<Subject> subjects;
  for (const int64_t lanes : {16, 64}) {
    subjects.push_back({absl::StrCat("cartpole_", lanes), "CartPole-v1", "{}", "[]", "false", lanes,
                        make + "CartPole-v1\", disable_env_checker=True)"});
  }
  subjects.push_back({"cartpole_vector_64", "CartPole-v1", "{}", "[]", "true", 64,
                      "e = gymnasium.make_vec(\"CartPole-v1\", 64, vectorization_mode=\"vector_entry_point\")"});
  subjects.push_back({"lunar_lander_16", "LunarLander-v3", "{}", "[]", "false", 16,
                      make + "LunarLander-v3\", disable_env_checker=True)"});
  subjects.push_back({"half_cheetah_8", "HalfCheetah-v5", "{}", "[]", "false", 8,
                      make + "HalfCheetah-v5\", disable_env_checker=True)"});
  subjects.push_back({"pong_8", "ALE/Pong-v5", R"({"frameskip":1})", R"(["AtariPreprocessing"])", "false", 8,
                      "import ale_py; gymnasium.register_envs(ale_py)\n"
                      "e = gymnasium.wrappers.AtariPreprocessing(gymnasium.make(\"ALE/Pong-v5\", frameskip=1, "
                      "disable_env_checker=True))"});
  std::vector<Case> cases;
  for (const Subject& subject : subjects) {
    if (RunPython(absl::StrCat("import gymnasium\n", subject.bare, "\nprint(1)")) == 1) {
      cases.push_back({absl::StrCat("environment/gymnasium/", subject.name), [subject] { return Measure(subject); }});
    }
  }
  return RunCases(argc, argv, cases);
}

}  // namespace
}  // namespace waggle::bench

int main(int argc, char** argv) {
  return waggle::bench::Main(argc, argv);
}
