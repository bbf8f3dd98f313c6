// How an algorithm acts, with the one policy class that all algorithms share.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <set>
#include <utility>

#include "tests/conformance/player.h"
#include "tests/conformance/subject.h"

namespace waggle::testing {
namespace {

constexpr int64_t kLanes = 8;

// The first observations of several environments of a kind.
struct Shown {
  explicit Shown(const Subject& subject, uint64_t seed = 3) {
    LocalVectorEnvironment environments = NewEnvironments(subject, /*are_long=*/true, kLanes, seed);
    REQUIRE_OK(environments.Reset());
    const ReadyLanes ready = ValueOf(environments.Recv(kLanes, StopToken()));
    for (size_t leaf = 0; leaf < ready.observations.size(); ++leaf) {
      const auto bytes = static_cast<size_t>(environments.spec().observations[leaf].array.NumBytes());
      const char* const data = static_cast<const char*>(ready.observations[leaf]);
      leaves.emplace_back(data, data + bytes * kLanes);
    }
  }
  std::vector<std::vector<char>> leaves;
};

// A policy's decision. All its outputs are filled with NaN before.
struct Decided {
  std::vector<std::vector<char>> actions;
  std::vector<std::vector<float>> columns;
  std::vector<float> private_values;

  friend bool operator==(const Decided& a, const Decided& b) {
    return a.actions == b.actions && a.columns == b.columns && a.private_values == b.private_values;
  }
};

// Row i is the observation of lane rows[i], and acts in slot slots[i]; its episode begins with it or continues.
Decided Act(Policy* policy, const Subject& subject, const Shown& shown, const std::vector<int64_t>& rows,
            const std::vector<int64_t>& slots, ActMode mode, bool begins = true) {
  const EnvironmentSpec environment = SpecOf(subject.kind);
  std::vector<std::vector<char>> chosen;
  std::vector<const void*> observations;
  for (size_t leaf = 0; leaf < shown.leaves.size(); ++leaf) {
    const auto bytes = environment.observations[leaf].array.NumBytes();
    std::vector<char>& data = chosen.emplace_back();
    for (const int64_t row : rows) {
      data.insert(data.end(), shown.leaves[leaf].begin() + row * bytes, shown.leaves[leaf].begin() + (row + 1) * bytes);
    }
  }
  for (const std::vector<char>& data : chosen) {
    observations.push_back(data.data());
  }
  const std::vector<uint8_t> first(rows.size(), begins ? 1 : 0);
  PolicyInput input;
  input.slots = slots;
  input.observations = observations;
  input.first = first.data();
  Decided decided;
  PolicyOutput output;
  for (const SpaceLeaf& action : environment.actions) {
    decided.actions.emplace_back(rows.size() * static_cast<size_t>(action.array.NumBytes()), '\xff');
  }
  for (const ArraySpec& column : policy->columns()) {
    REQUIRE(column.dtype == DType::kFloat32);
    decided.columns.emplace_back(rows.size() * static_cast<size_t>(column.NumElements()), NAN);
  }
  decided.private_values.assign(rows.size() * policy->private_columns().size(), NAN);
  for (std::vector<char>& action : decided.actions) {
    output.actions.push_back(action.data());
  }
  for (std::vector<float>& column : decided.columns) {
    output.columns.push_back(column.data());
  }
  output.private_values = decided.private_values.data();
  REQUIRE_OK(policy->Act(input, mode, &output));
  return decided;
}

std::vector<int64_t> AllLanes() {
  std::vector<int64_t> lanes(kLanes);
  std::iota(lanes.begin(), lanes.end(), 0);
  return lanes;
}

Decided ActInAll(Policy* policy, const Subject& subject, const Shown& shown, ActMode mode) {
  return Act(policy, subject, shown, AllLanes(), AllLanes(), mode);
}

bool AllFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

// A policy with a new learner's weights.
std::unique_ptr<Policy> LoadedPolicy(const Subject& subject, const Experiment& experiment) {
  std::unique_ptr<Policy> policy = NewPolicy(subject, experiment, kLanes);
  REQUIRE_OK(policy->LoadWeights(ValueOf(NewTrainee(subject, experiment)->Publish())));
  return policy;
}

TEST_CASE("a policy's actions are in the space, and its other outputs are finite", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    for (const ActMode mode : {ActMode::kExplore, ActMode::kGreedy}) {
      INFO((mode == ActMode::kGreedy ? ", greedily" : ", exploring"));
      const std::unique_ptr<Policy> policy = LoadedPolicy(subject, experiment);
      PolicyBuffers buffers(*policy, SpecOf(subject.kind).actions, kLanes);
      LocalVectorEnvironment environments = NewEnvironments(subject, /*are_long=*/true, kLanes);
      REQUIRE_OK(environments.Reset());
      for (int step = 0; step < 200; ++step) {
        const ReadyLanes ready = ValueOf(environments.Recv(kLanes, StopToken()));
        PolicyInput input;
        input.slots = ready.lanes;
        input.observations = ready.observations;
        input.first = ready.first;
        REQUIRE_OK(policy->Act(input, mode, buffers.output()));
        // Refuses an action outside the space, an illegal one, and NaN.
        REQUIRE_OK(environments.Send(ready.lanes, buffers.output()->actions));
      }
      const Decided decided = ActInAll(policy.get(), subject, Shown(subject), mode);
      if (mode == ActMode::kExplore) {
        for (const std::vector<float>& column : decided.columns) {
          CHECK(AllFinite(column));
        }
        CHECK(AllFinite(decided.private_values));
      }
    }
  });
}

// True for some of the choices of each element, at random, and for at least one.
void FillMask(const SpaceLeaf& action, Rng* rng, bool* mask) {
  for (const int64_t choices : action.num_values) {
    for (int64_t choice = 0; choice < choices; ++choice) {
      mask[choice] = rng->UniformInt(3) == 0;
    }
    mask[rng->UniformInt(static_cast<uint64_t>(choices))] = true;
    mask += choices;
  }
}

bool IsLegal(const SpaceLeaf& action, const int64_t* chosen, const bool* mask) {
  for (size_t i = 0; i < action.num_values.size(); ++i) {
    if (chosen[i] < 0 || chosen[i] >= action.num_values[i] || !mask[chosen[i]]) {
      return false;
    }
    mask += action.num_values[i];
  }
  return true;
}

constexpr int64_t kGears = 6;
const SpaceLeaf& Gear() {
  static const auto* const leaf = new SpaceLeaf(Discrete("action/gear", kGears));
  return *leaf;
}
const SpaceLeaf& Move() {
  static const auto* const leaf = new SpaceLeaf(MultiDiscrete("action/move", {2, 5, 3}));
  return *leaf;
}

// The number of illegal choices of the algorithm's policy, for a gear, alone or beside other actions, with random
// masks.
int64_t IllegalChoices(const Subject& subject, const std::vector<SpaceLeaf>& actions, ActMode mode) {
  const Experiment experiment = SmallExperiment(subject);
  PolicyContext context;
  context.experiment = &experiment;
  context.definitions = &Definitions();
  context.implementations = &Implementations();
  context.lanes = context.all_lanes = kLanes;
  context.environment.name = "masks";
  context.environment.actions = actions;
  context.environment.observations = {Box("observation/state", DType::kFloat32, {4}),
                                      MultiBinary("action_mask/gear", {kGears})};
  if (std::find(actions.begin(), actions.end(), Move()) != actions.end()) {
    context.environment.observations.push_back(MultiBinary("action_mask/move", {Move().TotalChoices()}));
  }
  const std::unique_ptr<Policy> policy = ValueOf(NetworkPolicy::Create(context));
  PolicyBuffers buffers(*policy, actions, kLanes);
  std::array<float, 4 * kLanes> state = {};
  std::array<bool, 6 * kLanes> gears = {};
  std::array<bool, 10 * kLanes> moves = {};
  const std::vector<const void*> shown = {state.data(), gears.data(), moves.data()};
  const std::vector<int64_t> slots = AllLanes();
  const std::vector<uint8_t> first(kLanes, 0);
  PolicyInput input;
  input.slots = slots;
  input.observations = absl::MakeConstSpan(shown).first(context.environment.observations.size());
  input.first = first.data();
  Rng rng(5);
  int64_t illegal = 0;
  for (int round = 0; round < 300; ++round) {  // Longer than a warm-up.
    for (float& number : state) {
      number = static_cast<float>(rng.Uniform(-30, 30));  // The network has strong preferences.
    }
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      FillMask(Gear(), &rng, &gears[static_cast<size_t>(kGears * lane)]);
      FillMask(Move(), &rng, &moves[static_cast<size_t>(Move().TotalChoices() * lane)]);
    }
    REQUIRE_OK(policy->Act(input, mode, buffers.output()));
    for (size_t leaf = 0; leaf < actions.size(); ++leaf) {
      const bool is_gear = actions[leaf] == Gear();
      const auto* const chosen = static_cast<const int64_t*>(buffers.output()->actions[leaf]);
      for (int64_t lane = 0; lane < kLanes && (is_gear || actions[leaf] == Move()); ++lane) {
        const bool* const mask = is_gear ? &gears[static_cast<size_t>(kGears * lane)]
                                         : &moves[static_cast<size_t>(Move().TotalChoices() * lane)];
        illegal += IsLegal(actions[leaf], chosen + actions[leaf].array.NumElements() * lane, mask) ? 0 : 1;
      }
    }
  }
  return illegal;
}

TEST_CASE("a policy never makes a masked choice, whatever the network prefers", "[unit]") {
  const std::vector<std::pair<TinyKind, std::vector<SpaceLeaf>>> kinds = {
      {TinyKind::kMasked, {Gear()}},
      {TinyKind::kMultiDiscrete, {Move(), Gear()}},
      {TinyKind::kMixed, {Box("action/steer", DType::kFloat32, {2}, -1, 1), Move(), Gear()}},
      {TinyKind::kHybrid, {Box("action/steer", DType::kFloat32, {2}, -1, 1), Gear()}}};
  for (const std::string& algorithm : Algorithms()) {
    for (const auto& [kind, actions] : kinds) {
      if (!Claims(*ValueOf(Definitions().Find(algorithm)), kind)) {
        continue;
      }
      for (const ActMode mode : {ActMode::kExplore, ActMode::kGreedy}) {
        INFO(algorithm << " in " << Name(kind) << (mode == ActMode::kGreedy ? ", greedily" : ", exploring"));
        CHECK(IllegalChoices({algorithm, kind}, actions, mode) == 0);
      }
    }
  }
}

TEST_CASE("policies with one seed act alike, and greedy acting does not change their exploration", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const std::unique_ptr<Policy> one = LoadedPolicy(subject, experiment);
    const std::unique_ptr<Policy> two = LoadedPolicy(subject, experiment);
    const std::unique_ptr<Policy> greedy_between = LoadedPolicy(subject, experiment);
    for (uint64_t round = 0; round < 50; ++round) {
      const Shown shown(subject, round);
      const Decided explored = ActInAll(one.get(), subject, shown, ActMode::kExplore);
      REQUIRE(ActInAll(two.get(), subject, shown, ActMode::kExplore) == explored);
      const Decided greedy = ActInAll(greedy_between.get(), subject, shown, ActMode::kGreedy);
      REQUIRE(ActInAll(greedy_between.get(), subject, shown, ActMode::kGreedy).actions == greedy.actions);
      REQUIRE(ActInAll(greedy_between.get(), subject, shown, ActMode::kExplore) == explored);
    }
  });
}

void CheckClose(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i] == Approx(b[i]).margin(1e-5));
  }
}

std::vector<float> AsFloats(const std::vector<char>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// Checks that row i of a decision equals row j of the other. Choices must be equal; numbers may differ by the order of
// sums.
void CheckSameActions(const Subject& subject, const Decided& a, int64_t i, const Decided& b, int64_t j) {
  const std::vector<SpaceLeaf> actions = SpecOf(subject.kind).actions;
  for (size_t leaf = 0; leaf < actions.size(); ++leaf) {
    const auto bytes = static_cast<std::ptrdiff_t>(actions[leaf].array.NumBytes());
    const auto row = [&](const Decided& decided, int64_t at) {
      const auto begin = decided.actions[leaf].begin() + at * bytes;
      return std::vector<char>(begin, begin + bytes);
    };
    if (actions[leaf].kind != SpaceKind::kBox) {
      CHECK(row(a, i) == row(b, j));
    } else {
      CheckClose(AsFloats(row(a, i)), AsFloats(row(b, j)));
    }
  }
}

TEST_CASE("a row's greedy action does not depend on the other rows or on its slot", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const std::unique_ptr<Policy> policy = LoadedPolicy(subject, experiment);
    const Shown shown(subject);
    const Decided together = ActInAll(policy.get(), subject, shown, ActMode::kGreedy);
    for (int64_t row = 0; row < kLanes; ++row) {
      for (const int64_t slot : {int64_t{0}, (row + 3) % kLanes}) {
        const Decided alone = Act(policy.get(), subject, shown, {row}, {slot}, ActMode::kGreedy);
        CheckSameActions(subject, alone, 0, together, row);
      }
      const int64_t other = (row + 1) % kLanes;
      const Decided both = Act(policy.get(), subject, shown, {other, row}, {row, other}, ActMode::kGreedy);
      CheckSameActions(subject, both, 1, together, row);
    }
  });
}

// The state of each row's slot before the row, back to back.
std::vector<float> CoreStateOf(const Policy& policy, const Decided& decided) {
  const std::vector<ArraySpec> columns = policy.columns();
  const auto state =
      std::find_if(columns.begin(), columns.end(), [](const ArraySpec& column) { return column.name == kCoreState; });
  REQUIRE(state != columns.end());
  return decided.columns[static_cast<size_t>(state - columns.begin())];
}

TEST_CASE("each slot of a policy with a core remembers only its own rows", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    if (!subject.Remembers()) {
      return;
    }
    const std::unique_ptr<Policy> together = LoadedPolicy(subject, experiment);
    const std::unique_ptr<Policy> by_turns = LoadedPolicy(subject, experiment);
    Decided all;
    std::vector<Decided> own(kLanes);
    for (uint64_t step = 0; step < 3; ++step) {
      const Shown shown(subject, step);
      const bool begins = step == 0;
      all = Act(together.get(), subject, shown, AllLanes(), AllLanes(), ActMode::kGreedy, begins);
      for (int64_t row = 0; row < kLanes; ++row) {
        own[static_cast<size_t>(row)] =
            Act(by_turns.get(), subject, shown, {row}, {(row + 3) % kLanes}, ActMode::kGreedy, begins);
      }
    }
    const std::vector<float> states = CoreStateOf(*together, all);
    const auto values = static_cast<std::ptrdiff_t>(states.size()) / kLanes;
    std::set<std::vector<float>> different;
    for (int64_t row = 0; row < kLanes; ++row) {
      const std::vector<float> state(states.begin() + row * values, states.begin() + (row + 1) * values);
      CheckClose(CoreStateOf(*by_turns, own[static_cast<size_t>(row)]), state);
      different.insert(state);
    }
    CHECK(different.size() == kLanes);
  });
}

TEST_CASE("a policy with a core forgets its state when an episode begins", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    if (!subject.Remembers()) {
      return;
    }
    const auto second_state = [&](Policy* policy, uint64_t seed) {
      ActInAll(policy, subject, Shown(subject, seed), ActMode::kGreedy);
      return CoreStateOf(*policy, Act(policy, subject, Shown(subject, seed + 1), AllLanes(), AllLanes(),
                                      ActMode::kGreedy, /*begins=*/false));
    };
    const std::unique_ptr<Policy> used = LoadedPolicy(subject, experiment);
    const std::vector<float> before = second_state(used.get(), 1);
    const std::vector<float> state = second_state(used.get(), 3);
    CHECK(state != before);
    CHECK(state == second_state(LoadedPolicy(subject, experiment).get(), 3));
  });
}

TEST_CASE("weights of another network are refused and change nothing", "[unit]") {
  ForEachSubject([](const Subject& subject, const Experiment& experiment) {
    const std::unique_ptr<Policy> policy = LoadedPolicy(subject, experiment);
    const Shown shown(subject);
    const Decided before = ActInAll(policy.get(), subject, shown, ActMode::kGreedy);
    const Experiment other = LearningExperiment(subject);
    REQUIRE_CODE(policy->LoadWeights(ValueOf(NewTrainee(subject, other)->Publish())),
                 absl::StatusCode::kFailedPrecondition);
    CHECK(ActInAll(policy.get(), subject, shown, ActMode::kGreedy).actions == before.actions);
  });
}

}  // namespace
}  // namespace waggle::testing
