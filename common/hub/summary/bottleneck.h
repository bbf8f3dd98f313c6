#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "waggle/v1/worker.pb.h"

namespace waggle {

// The stations of the loop in which a run's data goes round: environment -> actor -> replay -> learner -> hub -> actor.
enum class Station { kNone, kEnvironment, kActor, kReplay, kLearner, kHub };

// "none", "environment", "actor", "replay", "learner", "hub".
const char* StationName(Station station);

// Figures of a run's loop. Rates are per second, over the last heartbeats. Shares are of a process's time, from 0 to 1,
// as means over the processes of a role. Absent: not known.
struct LoopFigures {
  bool running = false;             // Acting and training go on.
  bool in_turns = false;            // In lock-step, one process works at a time.
  bool actors_push = false;         // Actors push gradients to the learner's place, the primary: there is no replay.
  int64_t actors = 0;               // Alive.
  int64_t learners = 0;             // Alive.
  int64_t replay_servers = 0;       // Alive.
  std::vector<std::string> silent;  // Living workers without a heartbeat for seconds: "learner-0 (5 s)".
  std::optional<double> env_steps;  // A second.
  std::optional<double> items_inserted;
  std::optional<double> items_sampled;
  std::optional<double> learner_steps;
  std::optional<double> gradients_pushed;
  std::optional<double> weights_published;
  std::optional<double> weights_pulled;
  std::optional<double> actor_waiting;      // Share of time, for any reason. The parts follow:
  std::optional<double> waits_for_room;     // Replay takes no more items for now.
  std::optional<double> waits_for_actions;  // The learner's process computes them.
  std::optional<double> waits_for_weights;  // Newer ones.
  std::optional<double> waits_for_steps;    // The run's last environment steps are given out.
  std::optional<double> in_environment;     // Share of the actors' time that environments take.
  std::optional<double> learner_waiting;    // Share of time.
  std::optional<double> policy_lag;         // Learner steps.
  double sampled_ever = 0;                  // Items.
};

// A worker that sent nothing for this long, several heartbeats, counts as silent.
inline constexpr int64_t kSilentWorkerMs = 3000;

LoopFigures LoopOf(const v1::OverviewResponse& overview);

// The station that holds up the loop of a run.
struct Bottleneck {
  Station station = Station::kNone;   // kNone: nothing is slow, or the run is not under way.
  std::string why;                    // One sentence, with the measured shares.
  std::vector<std::string> settings;  // Keys of the experiment that would change it, the likeliest first.
};

// The slow station is the one that others wait for, by the measured shares of waiting. A pure function.
Bottleneck FindBottleneck(const LoopFigures& loop);

// "learner: … (see learner.batch_size, learner.device)" for people.
std::string BottleneckText(const Bottleneck& bottleneck);
// {"station": "learner", "why": "…", "settings": ["…"]}.
nlohmann::ordered_json BottleneckJson(const Bottleneck& bottleneck);
// The stations with their shares of waiting, and the hops between them with their rates, for drawings.
nlohmann::ordered_json LoopJson(const LoopFigures& loop);

}  // namespace waggle
