#include "common/hub/summary/bottleneck.h"

#include <nlohmann/json.hpp>

#include "tests/common/hub/summary/sample_overview.h"
#include "tests/support/catch.h"

namespace waggle::testing {
namespace {

// A run with one process of each role, in which no process waits.
LoopFigures Loop() {
  LoopFigures loop;
  loop.running = true;
  loop.actors = loop.learners = loop.replay_servers = 1;
  loop.env_steps = loop.items_inserted = 1'000;
  loop.items_sampled = 16'000;
  loop.learner_steps = 250;
  loop.actor_waiting = loop.learner_waiting = 0.05;
  loop.sampled_ever = 1e6;
  return loop;
}

bool Names(const Bottleneck& bottleneck, const std::string& setting) {
  for (const std::string& each : bottleneck.settings) {
    if (each == setting) {
      return true;
    }
  }
  return false;
}

TEST_CASE("nothing is slow if neither the actors nor the learner wait", "[unit]") {
  const Bottleneck found = FindBottleneck(Loop());
  CHECK(found.station == Station::kNone);
  CHECK(found.settings.empty());
  CHECK_THAT(found.why, Catch::Contains("16 samples an insert"));
}

TEST_CASE("the learner is slow if actors wait for room and it does not wait", "[unit]") {
  LoopFigures loop = Loop();
  loop.actor_waiting = loop.waits_for_room = 0.7;
  const Bottleneck found = FindBottleneck(loop);
  CHECK(found.station == Station::kLearner);
  CHECK(Names(found, "learner.device"));
  CHECK(found.settings.front() == "replay.rate_limiter.samples_per_insert");
  CHECK_THAT(found.why, Catch::Contains("95 %") && Catch::Contains("70 %"));

  SECTION("a queue, whose items are sampled once, has no ratio to lower") {
    loop.items_sampled = loop.items_inserted;
    CHECK_FALSE(Names(FindBottleneck(loop), "replay.rate_limiter.samples_per_insert"));
  }
}

TEST_CASE("actors are slow if the learner waits: by their environments, or by choosing actions", "[unit]") {
  LoopFigures loop = Loop();
  loop.learner_waiting = 0.6;
  loop.in_environment = 0.8;
  Bottleneck found = FindBottleneck(loop);
  CHECK(found.station == Station::kEnvironment);
  CHECK(Names(found, "actor.processes"));
  loop.in_environment = 0.1;
  found = FindBottleneck(loop);
  CHECK(found.station == Station::kActor);
  CHECK(found.settings.front() == "actor.lanes");
  loop.in_environment.reset();
  CHECK(FindBottleneck(loop).station == Station::kActor);
}

TEST_CASE("actors that wait for actions or for weights are held up by the process that gives them", "[unit]") {
  LoopFigures loop = Loop();
  loop.learner_waiting = 0.6;
  loop.actor_waiting = 0.5;
  loop.waits_for_room = 0.01;
  loop.waits_for_actions = 0.49;
  CHECK(FindBottleneck(loop).station == Station::kLearner);
  CHECK(Names(FindBottleneck(loop), "learner.inference.batch_rows"));
  std::swap(loop.waits_for_actions, loop.waits_for_weights);
  CHECK(FindBottleneck(loop).station == Station::kHub);
  CHECK(Names(FindBottleneck(loop), "learner.publish_period_steps"));
}

TEST_CASE("if both sides wait, the one that works most is slow, or replay if neither works half of the time",
          "[unit]") {
  LoopFigures loop = Loop();
  loop.actor_waiting = loop.waits_for_room = 0.95;
  loop.learner_waiting = 0.3;
  CHECK(FindBottleneck(loop).station == Station::kLearner);
  loop.actor_waiting = loop.waits_for_room = 0.25;
  loop.learner_waiting = 0.9;
  CHECK(FindBottleneck(loop).station == Station::kActor);
  loop.actor_waiting = loop.waits_for_room = 0.6;
  const Bottleneck found = FindBottleneck(loop);
  CHECK(found.station == Station::kReplay);
  CHECK(Names(found, "learner.prefetch_batches"));
}

TEST_CASE("before the first batch the actors are what the learner waits for", "[unit]") {
  LoopFigures loop = Loop();
  loop.sampled_ever = 0;
  loop.learner_waiting = 1;
  loop.in_environment = 0.9;
  CHECK(FindBottleneck(loop).station == Station::kEnvironment);
}

TEST_CASE("a role without a worker stops the loop", "[unit]") {
  LoopFigures loop = Loop();
  loop.learners = 0;
  CHECK(FindBottleneck(loop).station == Station::kLearner);
  loop.learners = 1;
  loop.replay_servers = 0;
  CHECK(FindBottleneck(loop).station == Station::kReplay);
  loop.replay_servers = 1;
  loop.actors = 0;
  loop.items_sampled = 0;
  CHECK(FindBottleneck(loop).station == Station::kActor);
  loop.items_sampled = 1'000;  // It learns from recorded episodes.
  CHECK(FindBottleneck(loop).station == Station::kLearner);
}

TEST_CASE("a silent worker is the reason, with its silence", "[unit]") {
  LoopFigures loop = Loop();
  loop.silent = {"learner-0 (5 s)"};
  const Bottleneck found = FindBottleneck(loop);
  CHECK(found.station == Station::kLearner);
  CHECK_THAT(found.why, Catch::Contains("learner-0 (5 s)"));
}

TEST_CASE("actors that push gradients wait for the gradient server, or are slow themselves", "[unit]") {
  LoopFigures loop = Loop();
  loop.actors_push = true;
  loop.replay_servers = 0;
  loop.learner_waiting.reset();
  CHECK(FindBottleneck(loop).station == Station::kActor);
  loop.actor_waiting = 0.4;
  CHECK(FindBottleneck(loop).station == Station::kHub);
  CHECK(Names(FindBottleneck(loop), "learner.gradient_server.reducers"));
  loop.actor_waiting.reset();
  CHECK(FindBottleneck(loop).station == Station::kNone);
}

TEST_CASE("a run that does not act, takes turns or has not reported has no bottleneck", "[unit]") {
  LoopFigures loop = Loop();
  loop.actor_waiting.reset();
  CHECK(FindBottleneck(loop).station == Station::kNone);
  loop.in_turns = true;
  CHECK(Names(FindBottleneck(loop), "experiment.deterministic"));
  loop.running = false;
  CHECK(FindBottleneck(loop).settings.empty());
}

TEST_CASE("the figures of a loop are those of its overview", "[unit]") {
  v1::OverviewResponse overview = SampleOverview();
  LoopFigures loop = LoopOf(overview);
  CHECK(loop.running);
  CHECK(loop.actors == 2);
  CHECK(loop.learners == 1);
  CHECK(loop.replay_servers == 1);
  CHECK(loop.silent.empty());
  CHECK(loop.env_steps == 16'200);
  CHECK(loop.items_sampled == 259'000);
  CHECK(loop.actor_waiting == 0.1);
  CHECK(loop.learner_waiting == 0.03);
  CHECK_FALSE(loop.in_environment.has_value());
  CHECK_FALSE(loop.actors_push);
  overview.mutable_workers(0)->set_silent_ms(7'500);
  overview.mutable_workers(1)->set_alive(false);
  loop = LoopOf(overview);
  CHECK(loop.actors == 1);
  CHECK(loop.silent == std::vector<std::string>{"actor-0 (7 s)"});
  CHECK(LoopOf(PushingOverview()).actors_push);
}

TEST_CASE("the loop as JSON has each hop with its rate, or null, and the bottleneck its settings", "[unit]") {
  LoopFigures loop = Loop();
  loop.env_steps.reset();
  nlohmann::ordered_json json = LoopJson(loop);
  CHECK(json["hops"].size() == 5);
  CHECK(json["hops"][0]["per_s"].is_null());
  CHECK(json["hops"][1]["per_s"] == 1'000);
  loop.actors_push = true;
  CHECK(LoopJson(loop)["hops"].size() == 4);
  json = BottleneckJson({Station::kHub, "because", {"a.b"}});
  CHECK(json == nlohmann::ordered_json({{"station", "hub"}, {"why", "because"}, {"settings", {"a.b"}}}));
  CHECK(BottleneckText({Station::kHub, "because", {"a.b", "c"}}) == "hub: because (see a.b, c)");
  CHECK(BottleneckText({Station::kNone, "all is well", {}}) == "all is well");
}

}  // namespace
}  // namespace waggle::testing
