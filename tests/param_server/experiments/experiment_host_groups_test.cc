#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "param_server/experiments/listing.h"
#include "tests/param_server/experiments/host_fixture.h"

namespace waggle::testing {
namespace {

class GroupFixture : public HostFixture {
 public:
  Submission Group(const std::string& name, const std::vector<std::string>& seeds, const std::string& owner = "ada") {
    Submission group;
    group.submitted_yaml = "# " + name;
    for (const std::string& seed : seeds) {
      group.members.push_back({absl::StrCat("experiment: {name: ", name, ", seed: ", seed,
                                            "}\nenvironment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\n"
                                            "stop: {max_learner_steps: 1000}\n"),
                               {"experiment.seed=" + seed}});
    }
    group.owner = owner;
    return group;
  }
  std::string SubmitFor(const std::string& owner, const std::string& name = "x", int64_t priority = 0) {
    return ValueOf(host->Submit({Yaml(name), Yaml(name), priority, "", {}, {}, owner})).front();
  }
  std::set<std::string> Listed(const ExperimentQuery& query) {
    std::set<std::string> ids;
    const v1::ListExperimentsResponse page = host->List(query);
    for (const v1::ExperimentInfo& one : page.experiments()) {
      ids.insert(one.id());
    }
    for (const v1::ExperimentGroup& group : page.groups()) {
      ids.insert(group.id());
    }
    return ids;
  }
  std::string Group(const std::vector<std::string>& ids) { return ValueOf(host->Get(ids.front())).group(); }
};

TEST_CASE_METHOD(GroupFixture, "a group is in the queue as its members, also after a restart", "[unit]") {
  Start();
  Submission group = Group("x", {"3", "5"});
  group.tags = {"paper", "baseline", "paper"};
  group.request_id = "r";
  group.priority = 7;
  const std::vector<std::string> ids = ValueOf(host->Submit(group));
  REQUIRE(ids.size() == 2);
  CHECK(ValueOf(host->Submit(group)) == ids);  // A repeated request.
  host.reset();
  Start();
  CHECK(ValueOf(host->Submit(group)) == ids);
  const v1::ExperimentInfo second = ValueOf(host->Get(ids[1]));
  CHECK(second.id() == second.group() + "-1");
  CHECK(second.seed() == 5);
  CHECK(second.priority() == 7);
  CHECK(absl::StrJoin(second.settings(), ",") == "experiment.seed=5");
  CHECK(absl::StrJoin(second.tags(), ",") == "baseline,paper");
  CHECK(second.owner() == "ada");
  CHECK(second.population().empty());
  CHECK(ValueOf(host->Texts(ids[1])).submitted_yaml == "# x");
}

TEST_CASE_METHOD(GroupFixture, "a group with one wrong member, or with wrong labels, is refused as a whole", "[unit]") {
  Start();
  const Submission good = Group("x", {"1", "2"});
  std::vector<Submission> wrong(6, good);
  wrong[0].members[1].effective_yaml += "actor: {lane: 3}\n";
  wrong[1].tags = {"two words"};
  wrong[2].owner = "two\nlines";
  wrong[3].members.resize(1'001, good.members[0]);
  wrong[4].members[0].settings = {"a=b\nc"};
  wrong[5].members[0].effective_yaml =
      "experiment: {name: x, population: {size: 2, every: 9, mutate: {algorithm.optimizer.learning_rate: {}}}}\n"
      "environment: {name: CartPole-v1}\nalgorithm: {name: apex_dqn}\nstop: {max_learner_steps: 9}\n";
  for (const Submission& one : wrong) {
    REQUIRE_CODE(host->Submit(one).status(), absl::StatusCode::kInvalidArgument);
  }
  CHECK(Listed({}).empty());
}

TEST_CASE_METHOD(GroupFixture, "experiments are listed by group, tag, owner and name", "[unit]") {
  Start();
  Submission first = Group("x", {"1", "2"});
  first.tags = {"a", "b"};
  const std::vector<std::string> x = ValueOf(host->Submit(first));
  const std::vector<std::string> y = ValueOf(host->Submit(Group("y", {"1"}, "bob")));
  const std::string alone = SubmitFor("bob", "z");
  ExperimentQuery query;
  query.group = Group(x);
  CHECK(Listed(query) == std::set<std::string>{x[0], x[1]});
  query = {};
  query.tags = {"a"};
  CHECK(Listed(query) == std::set<std::string>{x[0], x[1]});
  query.tags = {"a", "c"};
  CHECK(Listed(query).empty());
  query = {};
  query.owner = "bob";
  CHECK(Listed(query) == std::set<std::string>{y[0], alone});
  query.name = "z";
  CHECK(Listed(query) == std::set<std::string>{alone});
  query = {};
  query.fold_groups = true;
  CHECK(Listed(query) == std::set<std::string>{Group(x), Group(y), alone});
  query.states = {RunState::kStopped};
  CHECK(Listed(query).empty());
  REQUIRE_OK(host->Stop(x[1]));
  CHECK(Listed(query) == std::set<std::string>{Group(x)});
  const v1::ListExperimentsResponse page = host->List(query);
  CHECK(page.groups(0).members() == 2);
  CHECK(page.groups(0).states_size() == 2);
}

TEST_CASE_METHOD(GroupFixture, "pages of a folded list have each group once", "[unit]") {
  Start();
  std::set<std::string> all;
  for (int i = 0; i < 3; ++i) {
    all.insert(Group(ValueOf(host->Submit(Group("x", {"1", "2", "3"})))));
    all.insert(SubmitFor("ada"));
  }
  ExperimentQuery query;
  query.fold_groups = true;
  query.limit = 1;
  std::vector<std::string> seen;
  while (true) {
    const v1::ListExperimentsResponse page = host->List(query);
    REQUIRE(page.experiments_size() + page.groups_size() <= 1);
    for (const std::string& id : Listed(query)) {
      seen.push_back(id);
    }
    if (page.next_page_token().empty()) {
      break;
    }
    query.before = std::stoll(page.next_page_token());
  }
  CHECK(seen.size() == 6);
  CHECK(std::set<std::string>(seen.begin(), seen.end()) == all);
}

TEST_CASE("A group in short has its states, its sums and its best member", "[unit]") {
  std::vector<v1::ExperimentInfo> members(3);
  for (size_t i = 0; i < members.size(); ++i) {
    members[i].set_id(absl::StrCat("x-", i));
    members[i].set_group("x");
    members[i].set_env_steps(10);
    members[i].set_state(v1::RUN_STATE_QUEUED);
    members[i].set_reason(absl::StrCat("waits ", i));
    members[i].set_priority(static_cast<int32_t>(i));
  }
  members[0].set_state(v1::RUN_STATE_RUNNING);
  members[2].set_state(v1::RUN_STATE_LIMIT);
  members[0].mutable_result()->mutable_evaluation()->set_mean_return(-3);
  members[2].mutable_result()->mutable_evaluation()->set_mean_return(-2);
  members[2].add_settings("a=1");
  const v1::ExperimentGroup group = Summarize(members);
  CHECK(group.id() == "x");
  CHECK(group.members() == 3);
  CHECK(group.env_steps() == 30);
  CHECK(group.best_id() == "x-2");
  CHECK(group.best_settings(0) == "a=1");
  CHECK(group.reason() == "waits 1");
  CHECK(group.priority() == 1);  // The highest has ended.
  REQUIRE(group.states_size() == 3);
  CHECK(group.states(0).count() == 1);
  CHECK_FALSE(group.is_population());
}

TEST_CASE_METHOD(GroupFixture, "a word stands for an id, a group, or the only one that begins so", "[unit]") {
  Start();
  const std::vector<std::string> x = ValueOf(host->Submit(Group("xx", {"1", "2"})));
  const std::string alone = SubmitFor("ada", "xy");
  const std::string group = Group(x);
  const auto ids = [this](const std::string& word) {
    const v1::ResolveResponse found = ValueOf(host->Resolve(word));
    return std::vector<std::string>(found.ids().begin(), found.ids().end());
  };
  CHECK(ids(alone) == std::vector<std::string>{alone});
  CHECK(ids("xy") == std::vector<std::string>{alone});
  CHECK(ids(group) == x);
  CHECK(ids("xx") == x);
  CHECK(ValueOf(host->Resolve("xx")).group() == group);
  CHECK(ids(x[1]) == std::vector<std::string>{x[1]});
  CHECK(ValueOf(host->Resolve(x[1])).group().empty());
  const absl::Status several = host->Resolve("x").status();
  REQUIRE_CODE(several, absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(several.message()), Catch::Contains(group) && Catch::Contains(alone));
  REQUIRE_CODE(host->Resolve(group + "-").status(), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(host->Resolve("none").status(), absl::StatusCode::kNotFound);
  REQUIRE_CODE(host->Resolve("").status(), absl::StatusCode::kInvalidArgument);
}

TEST_CASE_METHOD(GroupFixture, "a priority that is changed decides which experiment begins next, also after a restart",
                 "[unit]") {
  Start();
  const std::string first = SubmitFor("ada");
  const std::string second = SubmitFor("ada");
  REQUIRE_OK(host->SetPriority(second, 3));
  REQUIRE_CODE(host->SetPriority(second, 2'000'000), absl::StatusCode::kInvalidArgument);
  REQUIRE_CODE(host->SetPriority("none", 1), absl::StatusCode::kNotFound);
  host.reset();
  Start();
  CHECK(ValueOf(host->Get(second)).priority() == 3);
  WholeCrew();
  RoundsUntil("the second", [&] { return State(second) == RunState::kRunning; });
  CHECK(State(first) == RunState::kQueued);
  REQUIRE_OK(host->SetPriority(second, -1));  // It runs.
  CHECK(ValueOf(host->Get(second)).priority() == -1);
  REQUIRE_OK(host->Stop(first));
  REQUIRE_CODE(host->SetPriority(first, 1), absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(Log(second), Catch::Contains("priority from 0 to 3"));
}

TEST_CASE_METHOD(GroupFixture, "the owner with the least share is served first", "[unit]") {
  Start();
  WholeCrew();
  const std::string first = SubmitFor("ada");
  RoundsUntil("the first", [&] { return State(first) == RunState::kRunning; });
  const std::string second = SubmitFor("ada");
  const std::string third = SubmitFor("bob");
  Worker("learner-2", WorkerKind::kLearner);
  Worker("actor-2", WorkerKind::kActor);
  RoundsUntil("another", [&] { return State(second) == RunState::kRunning || State(third) == RunState::kRunning; });
  CHECK(State(third) == RunState::kRunning);
  CHECK(State(second) == RunState::kQueued);
}

TEST_CASE_METHOD(GroupFixture, "experiments beyond a quota wait, and do not block others", "[unit]") {
  options.pool.quotas.of_each.quota.experiments = 1;
  options.pool.quotas.of_each.quota.learners = 3;
  Start();
  WholeCrew();
  Worker("learner-2", WorkerKind::kLearner);
  Worker("actor-2", WorkerKind::kActor);
  const std::string first = SubmitFor("ada");
  const std::string second = SubmitFor("ada");
  const std::string other = SubmitFor("bob");
  RoundsUntil("both owners", [&] { return State(first) == RunState::kRunning && State(other) == RunState::kRunning; });
  CHECK(State(second) == RunState::kQueued);
  CHECK_THAT(ValueOf(host->Get(second)).reason(), Catch::Contains("the quota of owner ada"));
  CHECK(host->Impossible({second}).empty());
  REQUIRE_OK(host->Stop(first));
  EndAll();
  RoundsUntil("the second", [&] { return State(second) == RunState::kRunning; });
  const std::string large = Submit("large", "learner: {processes: 4}\n");
  const std::vector<std::string> never = host->Impossible({large, large});
  REQUIRE(never.size() == 2);  // By the pool, and by the quota.
  CHECK_THAT(never[0], Catch::StartsWith("learner.processes: "));
  CHECK_THAT(never[1], Catch::Contains("quota"));
}

}  // namespace
}  // namespace waggle::testing
