#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/config/config_visitor.h"
#include "common/config/experiment/dm_env_rpc_options.h"
#include "common/config/experiment/population_options.h"
#include "common/config/experiment/self_play.h"
#include "common/config/experiment/spec_options.h"
#include "common/config/table/table_config.h"

// The sections of an experiment's YAML file that are the same for every algorithm. Each field's comment gives its
// meaning, its unit, and the cost of a change; the defaults are here and nowhere else. Visit() holds each value's
// range, Validate() the relations between values.

namespace waggle {

// The most actor processes and learners that an experiment may ask for.
inline constexpr int64_t kMaxActorProcesses = 1024;
inline constexpr int64_t kMaxLearnerProcesses = 64;

// `experiment.checkpoint:` — cuts: consistent states of the whole run, to which it can return (docs/cuts.md).
struct CutOptions {
  // Seconds from one cut to the next; in a deterministic run, learner steps. 0: cuts are made on request alone.
  int64_t period = 0;
  int64_t keep = 2;  // The newest cuts that stay.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `experiment:` — the run's name and randomness.
struct ExperimentOptions {
  std::string name = "experiment";  // Names the output folder and the model.
  int64_t seed = 1;                 // All randomness of the run follows from it.
  // If true, actor, learner, evaluator and recorder take turns, so that two runs on one kind of machine are equal bit
  // for bit. Needs one actor.
  bool deterministic = false;
  CutOptions checkpoint;
  PopulationOptions population;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `environment.gymnasium:` — an environment with Gymnasium's interface, in processes of the user's Python.
struct GymnasiumOptions {
  // "CartPole-v1", "MODULE:ENVIRONMENT-ID" or "MODULE:CLASS". Empty: the environment is not Gymnasium's.
  std::string id;
  std::string kwargs = "{}";  // Arguments of the environment: a mapping, as JSON.
  // A list of "NAME", of gymnasium.wrappers, or "MODULE:NAME", or {either: {arguments}}; the first is the innermost.
  std::string wrappers = "[]";
  // Steps several lanes at once in one vector environment: true, false, or auto. auto means true if the environment has
  // an equal vector form and there are no wrappers.
  std::string vector = "auto";

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `environment.pettingzoo:` — a parallel environment of several agents, in processes of the user's Python.
struct PettingZooOptions {
  // "MODULE", which has parallel_env, or "MODULE:CALLABLE". Empty: the environment is not PettingZoo's.
  std::string id;
  std::string kwargs = "{}";  // Arguments of the environment: a mapping, as JSON.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `environment.plugin:` — an environment in a shared library: actor/environments/plugin/waggle_environment.h.
struct PluginOptions {
  std::string library;  // A path on the actors' machines. Empty: the environment is not in a library.
  std::string name;     // One of the library's environments.
  std::string options = "{}";

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// The schemes of environments that are not built in. An actor offers these names to the pool, beside built-in
// environments.
inline constexpr char kGymnasium[] = "gymnasium";
inline constexpr char kPettingZoo[] = "pettingzoo";
inline constexpr char kPlugin[] = "plugin";

// `environment:` — the environment to learn.
struct EnvironmentOptions {
  std::string name = "CartPole-v1";  // A name from the environment registry; otherwise it follows from the id below.
  SpecOptions spec;                  // For kNullEnvironment alone.
  // An environment's own settings, by their names: a mapping, as JSON. See ReadSettings in
  // actor/environments/environment_settings.h.
  std::string options = "{}";
  GymnasiumOptions gymnasium;
  PettingZooOptions pettingzoo;
  PluginOptions plugin;
  DmEnvRpcOptions dm_env_rpc;
  // Transforms between the environment and the policy, from the environment outwards: a list of "NAME" or {NAME:
  // {settings}}, as JSON. See actor/environments/transforms/transform.h.
  std::string transforms = "[]";
  // Threads of each actor that step its lanes. For slow environments that run in the actor's process.
  int64_t threads = 1;
  // Processes of each actor that step its lanes. For environments of Python.
  int64_t processes = 1;
  std::string python = "python3";  // The interpreter of these processes: a path, or a name in PATH.

  // The section that opens it: "gymnasium", "pettingzoo", "plugin", "dm_env_rpc"; empty if it is built in.
  std::string Scheme() const;
  bool is_built_in() const { return Scheme().empty(); }
  bool is_python() const { return Scheme() == kGymnasium || Scheme() == kPettingZoo; }
  // A worker must offer this to step the environment.
  std::string Offer() const { return is_built_in() ? name : Scheme(); }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `replay:` — the buffer between actors and learner.
struct ReplayOptions {
  ReplayOptions();

  // Replay servers that the buffer is spread over. The run begins when all have joined, and goes on without lost ones.
  // The fields below are for all of them together.
  int64_t servers = 1;
  // A file of recorded episodes (`waggle record`, `waggle import`), or minari:FOLDER, on the machine of the first
  // actor, which writes them to the run's tables before it acts. Empty: no episodes are imported.
  std::string import;
  // The share of each batch that is drawn from imported episodes, which have tables of their own beside those of the
  // actors. 0: imported and acted rows are in the same tables.
  double imported_share = 0;
  // Between checkpoints of a server that `waggle run` starts, if the durability asks for them; 0: only at its end.
  double checkpoint_seconds = 300;
  // The other keys, as VisitTableFields names them, beside these two. An error_buffer of 0 beside a ratio, without
  // bounds of the difference, stands for ten batches, or more if there are very many servers.
  TableConfig table;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;

  // The base of each of the run's tables: `table` with its limiter filled in. The algorithm adds its own fields.
  TableConfig TableFor(int64_t batch_size) const;
  // True if a server keeps anything on its disk, and so needs a folder.
  bool NeedsDataFolder() const;
};

// `actor:` — the processes that act.
struct ActorOptions {
  // The number of actors, or {min: 2, max: 16}: the run begins with `min` and takes more as they come, and `waggle run`
  // starts `max`. Algorithms that wait for all actors, as PPO does, need a number. 0: nothing is learned but from
  // replay.import. One process imports then, and does not act.
  int64_t processes = 1;
  int64_t least_processes = 1;  // `processes.min`.
  bool acts() const { return processes > 0; }
  int64_t processes_started() const { return acts() ? processes : 1; }
  int64_t least_processes_started() const { return acts() ? least_processes : 1; }
  // Actors wait for weights of this learner step before they act. Until then the learner has imported episodes alone.
  int64_t first_learner_step = 0;
  int64_t lanes = 16;          // Environments stepped together in one process.
  int64_t chunk_rows = 16;     // Steps of a lane that are sent together; more is less overhead and later data.
  int64_t threads = 1;         // The tensor library's threads; more than one pays for large networks only.
  std::string device = "cpu";  // The device that computes actions: cpu, cuda or cuda:N.
  // local: each actor computes actions with weights of its own; server: the learner's process computes them for all
  // actors, on the learner's device. Not for actors that wait for each learner step.
  std::string inference = "local";
  bool asks_learner() const { return inference == "server"; }  // The learner's process computes its actions.
  double refresh_seconds = 0.05;                               // Newer weights are asked for at most this often.
  // Blocks sent and unacknowledged before the actor waits; a block is one chunk of every lane. A larger value rides out
  // a longer pause of the server; a smaller one keeps the data fresh, as waiting data was acted by weights that grow
  // old.
  int64_t max_unacknowledged_blocks = 4;
  int64_t max_unacknowledged_mebibytes = 64;
  std::optional<SelfPlayOptions> self_play;  // Absent: all agents of the environment are the learner's.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `learner.checkpoint:` — the state that survives the learner.
struct CheckpointOptions {
  // The longest time between checkpoints: the first come sooner. One is also written at the end; 0: only that one.
  double period_seconds = 60;
  int64_t keep = 3;  // Older ones are deleted.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `learner.inference:` — the learner's process computes actions in batches if `actor.inference` is server. A batch
// begins when one of the two is reached, or when all actors wait.
struct InferenceOptions {
  int64_t batch_rows = 256;     // The most rows that are computed together.
  double wait_seconds = 0.001;  // The time that the first request of a batch waits for others.

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// A batch_size that an algorithm may have as its default and that a file cannot give: as many items as all actors of
// the run have lanes. ParseExperiment fills it in.
inline constexpr int64_t kOneOfEachLane = 0;

// `learner.gradient_server:` — makes steps from the gradients that actors or learners push. `reducers`, `batch` and
// `max_unacknowledged` mean nothing if learners push.
struct GradientServerOptions {
  int64_t reducers = 0;         // Processes that add up gradients for the primary; 0: actors push to the primary.
  std::string reduce = "mean";  // mean or sum, over all gradients of a step.
  int64_t batch = 1;            // Gradients that a reducer adds up before it hands the sum on.
  int64_t primary_batch = 1;    // Gradients, or reducers' sums, that make a step.
  double flush_seconds = 0.05;  // A step is made from fewer once the first has waited this long.
  // The most steps between a gradient's weights and the present ones; absent: unlimited.
  std::optional<int64_t> max_staleness;
  // The treatment of older gradients: refuse, or scale, by 1 / (1 + the steps above max_staleness).
  std::string stale = "refuse";
  int64_t max_unacknowledged = 4;  // Unanswered gradients of one actor before it waits.

  // Several learners push in place of the actors. Not a key of its own: it follows from the learner's.
  bool learners_push = false;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// `learner.init:` — weights of another run, with which this run's networks begin. A learner that continues, from a
// checkpoint or from published weights, does not read them.
struct InitOptions {
  // The other run's folder: its learner's checkpoint, or else its best weights. Or a folder of checkpoints or weights.
  std::string from;
  // Prefixes of this run's parameters, "policy.torso", to those of the source. Other parameters begin as in a new run.
  // Empty: all parameters of the same names.
  std::map<std::string, std::string> map;

  bool is_given() const { return !from.empty(); }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `learner:` — the process that learns.
struct LearnerOptions {
  // The number of learners. Several are a group: each samples batches of its own, and all step by the mean of their
  // gradients, so that a step learns from this many times batch_size items.
  int64_t processes = 1;
  std::string device = "cpu";    // cpu, cuda or cuda:N.
  int64_t threads = 1;           // The tensor library's threads; more than one pays for large networks only.
  int64_t batch_size = 128;      // Items a learner step, for each learner.
  int64_t prefetch_batches = 4;  // Batches asked for ahead; 0: each batch is asked for when it is needed.
  // Items acted by weights that are more learner steps old are left out of their batch, and counted; absent: no limit.
  // Not for tables whose items have priorities.
  std::optional<int64_t> max_policy_lag;
  // The codec of batches that it makes much shorter, as frames: none, lz4 or zstd. It costs both sides time.
  Codec batch_compression = Codec::kNone;
  int64_t publish_period_steps = 50;  // Learner steps from one publication of the weights to the next.
  // Learner steps whose new priorities are sent together; more is less overhead and later priorities.
  int64_t priority_update_steps = 8;
  // In a deterministic run: learner steps from one row of its figures to the next.
  int64_t report_period_steps = 100;
  InferenceOptions inference;  // The experiment visits it: it has a meaning only beside actor.inference: server.
  CheckpointOptions checkpoint;
  InitOptions init;
  // local: learners compute gradients and step by them. push, with one process: actors compute gradients and push them
  // to a parameter server's primary, which replaces the learner. push, with several: learners compute gradients from
  // batches of their own and push them to the first, which steps; a step need not wait for all.
  std::string gradients = "local";
  GradientServerOptions gradient_server;

  bool actors_push() const { return gradients == "push" && processes == 1; }
  bool learners_push() const { return gradients == "push" && processes > 1; }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const { return absl::OkStatus(); }
};

// `evaluation:` — greedy episodes beside the training.
struct EvaluationOptions {
  bool enabled = true;
  int64_t episodes = 20;  // Their mean return is reported.
  // Episodes of the second evaluation of weights that reached the target: the first, one of many, may have been lucky.
  int64_t confirm_episodes = 100;
  // From the start of one evaluation to the start of the next; each takes the newest weights. 0: without a pause while
  // there are newer ones; small networks then fill metrics and terminals with dozens a second.
  double period_seconds = 1;
  // The same in a deterministic run, in learner steps.
  int64_t period_steps = 500;
  // With a number N an evaluation also waits for weights of the next multiple of N learner steps, or newer ones, unless
  // training is over. In a deterministic run it replaces period_steps. Absent: any newer weights are evaluated.
  std::optional<int64_t> period_learner_steps;
  // The environment of evaluations: `environment:`, with the keys that are given here in place of its own.
  EnvironmentOptions environment;
  bool has_own_environment = false;  // True if keys are given.

  // Learner steps from one evaluation to the next in a deterministic run; 0: there are none.
  int64_t StepsInLockStep() const { return enabled ? period_learner_steps.value_or(period_steps) : 0; }

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

// `stop:` — limits that end the run; absent and 0 mean no limit. At least one must be given.
struct StopOptions {
  // Solved when the mean returns of two evaluations of the same weights reach it.
  std::optional<double> target_return;
  // Over all actors, which get parts of the remainder. Each may pass it by fewer steps than its lanes; by an unroll or
  // two if actors wait for each learner step; by less than a turn in a deterministic run.
  int64_t max_env_steps = 0;
  int64_t max_learner_steps = 0;
  // Since the first environment step, so that processes may be started by hand in any order. Time without a hub, or
  // while the run had failed, does not count. `waggle run`, which starts the processes itself, fails if no step comes
  // within this and a minute.
  double max_seconds = 0;

  void Visit(ConfigVisitor& visitor);
  absl::Status Validate() const;
};

}  // namespace waggle
