#include "common/hub/summary/bottleneck.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace waggle {
namespace {

using Json = nlohmann::ordered_json;
using Figures = google::protobuf::Map<std::string, double>;

// A process that waits for less than this share of its time is busy. Short waits are usual: a rate limiter makes one
// side wait now and then, and so does a network.
constexpr double kMuch = 0.2;
// A share of a process's time that is a reason by itself.
constexpr double kMost = 0.5;
// Below this ratio of samples to inserts, each item is sampled about once, as from a queue.
constexpr double kQueueRatio = 1.5;

std::optional<double> Get(const Figures& figures, const std::string& name) {
  const auto it = figures.find(name);
  return it == figures.end() || !std::isfinite(it->second) ? std::nullopt : std::optional<double>(it->second);
}

std::string Percent(double share) {
  return absl::StrFormat("%.0f %%", 100 * std::clamp(share, 0.0, 1.0));
}

bool Is(std::optional<double> share, double at_least) {
  return share.has_value() && *share >= at_least;
}

// The samples an insert; absent if unknown.
std::optional<double> RatioOf(const LoopFigures& loop) {
  if (!loop.items_inserted.has_value() || !loop.items_sampled.has_value() || *loop.items_inserted <= 0) {
    return std::nullopt;
  }
  return *loop.items_sampled / *loop.items_inserted;
}

Bottleneck Missing(Station station, const std::string& what, const std::string& setting) {
  return {station, absl::StrCat("no ", what, " works for the run, so the loop stands still"), {setting}};
}

std::optional<Bottleneck> FindMissing(const LoopFigures& loop) {
  if (loop.learners == 0) {
    return Missing(Station::kLearner, "learner", "learner.processes");
  }
  if (!loop.actors_push && loop.replay_servers == 0) {
    return Missing(Station::kReplay, "replay server", "replay.servers");
  }
  if (loop.actors == 0 && !Is(loop.items_sampled, 1)) {  // A run may learn from recorded episodes alone.
    return Missing(Station::kActor, "actor", "actor.processes");
  }
  return std::nullopt;
}

// The bottleneck if actors are slow: the station that takes the most of their time.
Bottleneck SlowActors(const LoopFigures& loop, const std::string& others) {
  if (Is(loop.waits_for_actions, kMuch)) {
    return {Station::kLearner,
            absl::StrCat(others, "; actors spend ", Percent(*loop.waits_for_actions),
                         " of their time waiting for actions, which the learner's process computes"),
            {"learner.inference.batch_rows", "learner.inference.wait_seconds", "learner.device", "actor.inference"}};
  }
  if (Is(loop.waits_for_weights, kMuch)) {
    return {Station::kHub,
            absl::StrCat(others, "; actors spend ", Percent(*loop.waits_for_weights),
                         " of their time waiting for newer weights"),
            {"learner.publish_period_steps", "algorithm.unroll"}};
  }
  if (Is(loop.in_environment, kMost)) {
    return {
        Station::kEnvironment,
        absl::StrCat(others, "; ", Percent(*loop.in_environment), " of the actors' time are steps of the environment"),
        {"actor.processes", "environment.processes", "environment.threads"}};
  }
  const std::string share = loop.in_environment.has_value()
                                ? absl::StrCat("; the environment takes only ", Percent(*loop.in_environment),
                                               " of the actors' time; choosing actions and writing items take the rest")
                                : "";
  return {Station::kActor, absl::StrCat(others, share), {"actor.lanes", "actor.processes", "actor.device"}};
}

Bottleneck PushedGradientsBottleneck(const LoopFigures& loop) {
  if (!loop.actor_waiting.has_value()) {
    return {Station::kNone, "no actor has reported its waiting time yet", {}};
  }
  if (*loop.actor_waiting >= kMuch && !Is(loop.waits_for_actions, kMuch)) {
    return {Station::kHub,
            absl::StrCat("actors spend ", Percent(*loop.actor_waiting),
                         " of their time waiting for the gradient server, which steps the weights"),
            {"learner.gradient_server.reducers", "learner.gradient_server.primary_batch", "algorithm.unroll"}};
  }
  return SlowActors(loop, absl::StrCat("actors compute the gradients and wait for only ", Percent(*loop.actor_waiting),
                                       " of their time"));
}

Bottleneck LearnerBottleneck(const LoopFigures& loop) {
  Bottleneck slow{
      Station::kLearner,
      absl::StrCat("the learner works ", Percent(1 - *loop.learner_waiting), " of its time, and actors spend ",
                   Percent(loop.waits_for_room.value_or(*loop.actor_waiting)),
                   " of theirs waiting for it to sample before replay takes more items"),
      {"learner.device", "learner.batch_size", "learner.processes"}};
  if (const std::optional<double> ratio = RatioOf(loop); Is(ratio, kQueueRatio)) {
    absl::StrAppendFormat(&slow.why, " (%.3g samples an insert)", *ratio);
    slow.settings.insert(slow.settings.begin(), "replay.rate_limiter.samples_per_insert");
  }
  return slow;
}

Bottleneck ReplayBottleneck(const LoopFigures& loop) {
  return {Station::kReplay,
          absl::StrCat("both sides wait at replay, actors ", Percent(*loop.actor_waiting),
                       " of their time and the learner ", Percent(*loop.learner_waiting),
                       ": items and batches are too slow, or too few, on their way between them"),
          {"learner.prefetch_batches", "replay.servers", "replay.rate_limiter.error_buffer",
           "actor.max_unacknowledged_blocks"}};
}

Bottleneck NoBottleneck(const LoopFigures& loop) {
  std::string why = absl::StrCat("nothing is slow: actors wait ", Percent(*loop.actor_waiting),
                                 " of their time and the learner ", Percent(*loop.learner_waiting));
  if (const std::optional<double> ratio = RatioOf(loop); ratio.has_value()) {
    absl::StrAppendFormat(&why, ", at %.3g samples an insert", *ratio);
  }
  return {Station::kNone, why, {}};
}

}  // namespace

const char* StationName(Station station) {
  switch (station) {
    case Station::kNone:
      return "none";
    case Station::kEnvironment:
      return "environment";
    case Station::kActor:
      return "actor";
    case Station::kReplay:
      return "replay";
    case Station::kLearner:
      return "learner";
    case Station::kHub:
      return "hub";
  }
  return "none";
}

LoopFigures LoopOf(const v1::OverviewResponse& overview) {
  const Figures& figures = overview.figures();
  LoopFigures loop;
  loop.running = overview.run_state() == v1::RUN_STATE_RUNNING;
  loop.in_turns = overview.has_turn();
  loop.actors_push = overview.totals().contains("actor/gradients_pushed");
  for (const v1::WorkerInfo& worker : overview.workers()) {
    if (!worker.alive()) {
      continue;
    }
    loop.actors += worker.role() == v1::ROLE_ACTOR ? 1 : 0;
    loop.learners += worker.role() == v1::ROLE_LEARNER ? 1 : 0;
    loop.replay_servers += worker.role() == v1::ROLE_REPLAY_SERVER ? 1 : 0;
    if (worker.silent_ms() >= kSilentWorkerMs) {
      const char* const role = worker.role() == v1::ROLE_ACTOR           ? "actor"
                               : worker.role() == v1::ROLE_LEARNER       ? "learner"
                               : worker.role() == v1::ROLE_REPLAY_SERVER ? "replay-server"
                                                                         : nullptr;
      if (role != nullptr) {
        loop.silent.push_back(absl::StrCat(role, "-", worker.index(), " (", worker.silent_ms() / 1000, " s)"));
      }
    }
  }
  loop.env_steps = Get(figures, "actor/env_steps_per_s");
  loop.items_inserted = Get(figures, "replay/items_inserted_per_s");
  loop.items_sampled = Get(figures, "replay/items_sampled_per_s");
  loop.learner_steps = Get(figures, "learner/steps_per_s");
  loop.gradients_pushed = Get(figures, "actor/gradients_pushed_per_s");
  loop.weights_published = Get(figures, "hub/models_pushed_per_s");
  loop.weights_pulled = Get(figures, "hub/models_pulled_per_s");
  loop.actor_waiting = Get(figures, "actor/waiting_fraction");
  loop.waits_for_room = Get(figures, "actor/room_waiting_fraction");
  loop.waits_for_actions = Get(figures, "actor/actions_waiting_fraction");
  loop.waits_for_weights = Get(figures, "actor/weights_waiting_fraction");
  loop.waits_for_steps = Get(figures, "actor/steps_waiting_fraction");
  loop.in_environment = Get(figures, "actor/environment_fraction");
  loop.learner_waiting = Get(figures, "learner/waiting_fraction");
  loop.policy_lag = Get(figures, "learner/policy_lag_mean");
  loop.sampled_ever = Get(overview.totals(), "replay/items_sampled").value_or(0);
  return loop;
}

Bottleneck FindBottleneck(const LoopFigures& loop) {
  if (!loop.running) {
    return {Station::kNone, "the run does not act or train now", {}};
  }
  if (std::optional<Bottleneck> missing = FindMissing(loop)) {
    return *std::move(missing);
  }
  if (!loop.silent.empty()) {
    const std::string& first = loop.silent.front();
    const Station station = first.rfind("actor", 0) == 0     ? Station::kActor
                            : first.rfind("learner", 0) == 0 ? Station::kLearner
                                                             : Station::kReplay;
    return {station,
            absl::StrCat("silent for seconds: ", absl::StrJoin(loop.silent, ", "), "; stopped, stuck or cut off"),
            {}};
  }
  if (loop.in_turns) {
    return {
        Station::kNone, "one process works at a time, because the run is deterministic", {"experiment.deterministic"}};
  }
  if (loop.actors_push) {
    return PushedGradientsBottleneck(loop);
  }
  if (loop.actors == 0) {
    return {Station::kLearner,
            "the learner trains on recorded items alone, so nothing else holds it up",
            {"learner.device", "learner.batch_size"}};
  }
  if (!loop.actor_waiting.has_value() || !loop.learner_waiting.has_value()) {
    return {Station::kNone,
            absl::StrCat(loop.actor_waiting.has_value() ? "the learner has" : "actors have",
                         " not reported waiting time yet"),
            {}};
  }
  if (loop.sampled_ever == 0 && *loop.learner_waiting >= kMost) {
    return SlowActors(loop, "replay has too few items yet for a first batch, and the learner waits for them");
  }
  if (Is(loop.waits_for_steps, kMost)) {
    return {Station::kNone,
            "actors wait because other actors have the run's last environment steps",
            {"stop.max_env_steps"}};
  }
  const bool actors_wait = *loop.actor_waiting >= kMuch;
  const bool learner_waits = *loop.learner_waiting >= kMuch;
  // A wait for something else than room in replay is no fault of the learner's steps.
  const bool for_room = loop.waits_for_room.value_or(*loop.actor_waiting) >= kMuch;
  // If both sides wait, the one that works for most of the time is slow. If neither does, what is between them is.
  if (for_room && *loop.actor_waiting >= kMost && *loop.learner_waiting >= kMost) {
    return ReplayBottleneck(loop);
  }
  if (actors_wait && for_room && *loop.actor_waiting > *loop.learner_waiting) {
    return LearnerBottleneck(loop);
  }
  if (learner_waits || actors_wait) {
    return SlowActors(loop, absl::StrCat("the learner spends ", Percent(*loop.learner_waiting),
                                         " of its time waiting for items, and actors spend ",
                                         Percent(loop.waits_for_room.value_or(*loop.actor_waiting)),
                                         " of theirs waiting for room in replay"));
  }
  return NoBottleneck(loop);
}

std::string BottleneckText(const Bottleneck& bottleneck) {
  return absl::StrCat(
      bottleneck.station == Station::kNone ? "" : absl::StrCat(StationName(bottleneck.station), ": "), bottleneck.why,
      bottleneck.settings.empty() ? "" : absl::StrCat(" (see ", absl::StrJoin(bottleneck.settings, ", "), ")"));
}

Json BottleneckJson(const Bottleneck& bottleneck) {
  return {{"station", StationName(bottleneck.station)}, {"why", bottleneck.why}, {"settings", bottleneck.settings}};
}

Json LoopJson(const LoopFigures& loop) {
  const auto number = [](std::optional<double> value) { return value.has_value() ? Json(*value) : Json(nullptr); };
  const auto hop = [&number](const char* from, const char* to, const char* unit, std::optional<double> rate) {
    return Json{{"from", from}, {"to", to}, {"unit", unit}, {"per_s", number(rate)}};
  };
  Json json;
  json["stations"] = {{{"name", "environment"}, {"busy", number(loop.in_environment)}},
                      {{"name", "actor"}, {"processes", loop.actors}, {"waiting", number(loop.actor_waiting)}},
                      {{"name", "replay"}, {"processes", loop.replay_servers}},
                      {{"name", "learner"}, {"processes", loop.learners}, {"waiting", number(loop.learner_waiting)}},
                      {{"name", "hub"}}};
  json["hops"] = Json::array({hop("environment", "actor", "steps", loop.env_steps)});
  if (loop.actors_push) {
    json["hops"].push_back(hop("actor", "learner", "gradients", loop.gradients_pushed));
  } else {
    json["hops"].push_back(hop("actor", "replay", "items", loop.items_inserted));
    json["hops"].push_back(hop("replay", "learner", "items", loop.items_sampled));
  }
  json["hops"].push_back(hop("learner", "hub", "weights", loop.weights_published));
  json["hops"].push_back(hop("hub", "actor", "weights", loop.weights_pulled));
  json["waits"] = {{"room", number(loop.waits_for_room)},
                   {"actions", number(loop.waits_for_actions)},
                   {"weights", number(loop.waits_for_weights)},
                   {"steps", number(loop.waits_for_steps)}};
  json["learner_steps_per_s"] = number(loop.learner_steps);
  json["policy_lag"] = number(loop.policy_lag);
  return json;
}

}  // namespace waggle
