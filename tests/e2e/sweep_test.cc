// A sweep over a pool of processes, whose members go on with later limits.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/service.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// Nothing but training: a member takes a second or two.
constexpr char kYaml[] = R"(
experiment: {name: tiny}
environment: {name: CartPole-v1}
algorithm: {name: ppo}
evaluation: {enabled: false}
stop: {max_env_steps: 2000}
)";

TEST_CASE("the members of a sweep run on two learners at a time, and all go on with a later limit", "[e2e]") {
  Service service;
  service.StartHub();
  service.StartReplay("replay");
  for (const std::string number : {"0", "1"}) {
    service.StartLearner("learner-" + number);
    service.StartActor("actor-" + number);
  }
  Eventually("the pool", [&] { return service.InPool("learner") == 2 && service.InPool("actor") == 2; });
  const std::string first = service.Submit(
      kYaml, {"--sweep", "algorithm.optimizer.learning_rate=1e-4,1e-3", "--seeds", "1-2", "--tag", "e2e"});
  const std::string group = first.substr(0, first.size() - 2);
  const auto the_group = [&] {
    const auto [status, said] = service.Waggle({"list", "--tag", "e2e", "--json"});
    return status == 0 ? nlohmann::json::parse(said).at("groups").at(0) : nlohmann::json();
  };
  const auto ended = [&] {
    const nlohmann::json one = the_group();
    return !one.is_null() && one.at("states").value("limit", 0) == 4;
  };
  Eventually("the members to reach their limits", ended);
  CHECK(the_group().at("members") == 4);
  CHECK(the_group().at("env_steps").get<double>() >= 4 * 1900);
  const auto [listed, members] = service.Waggle({"list", "--group", group});
  CHECK(listed == 0);
  CHECK(absl::StrContains(members, "algorithm.optimizer.learning_rate=1e-3 experiment.seed=2"));

  CHECK(service.Waggle({"resume", group}).first == 2);  // They would end again at once.
  const auto [resumed, said] = service.Waggle({"resume", group, "--max-env-steps", "4000"});
  INFO(said);
  REQUIRE(resumed == 0);
  CHECK(absl::StrContains(said, absl::StrCat(group, "-3: queued")));
  Eventually("the members to reach their later limits",
             [&] { return ended() && the_group().at("env_steps").get<double>() >= 4 * 3900; });
  const auto [logged, events] = service.Waggle({"logs", first});
  CHECK(logged == 0);
  CHECK(absl::StrContains(events, "stop.max_env_steps from 2000 to 4000"));
  // Members begin with the weights that they had: no learner has begun anew.
  const auto [told, status] = service.Waggle({"status", first, "--json"});
  CHECK(told == 0);
  CHECK(service.Waggle({"stop", group}).first == 0);
  CHECK(service.Waggle({"delete", group}).first == 0);
  CHECK(service.Waggle({"status", first}).first == 2);
  service.EndAll();
}

}  // namespace
}  // namespace waggle::testing
