#include "actor/actor_process.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actor/acting/rollout_loop.h"
#include "actor/acting/step_budget.h"
#include "actor/acting/unroll_share.h"
#include "actor/acting/weight_refresher.h"
#include "actor/environments/open_environment.h"
#include "actor/evaluation/evaluation_loop.h"
#include "actor/evaluation/evaluator.h"
#include "actor/importing/episode_importer.h"
#include "actor/self_play/self_play_environment.h"
#include "actor/writing/trajectory_writer.h"
#include "common/base/annotate.h"
#include "common/base/backoff.h"
#include "common/base/log.h"
#include "common/base/problems.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/base/threads/flush_until_stopped.h"
#include "common/config/experiment/experiment_plan.h"
#include "common/config/experiment/live_exploration.h"
#include "common/config/experiment/live_settings.h"
#include "common/config/experiment/memory_estimate.h"
#include "common/hub/ports/await_hub.h"
#include "common/hub/ports/turn_taker.h"
#include "common/rl/publishing/published_model.h"

namespace waggle {
namespace {

constexpr absl::Duration kFirstRetry = absl::Milliseconds(100);
constexpr absl::Duration kMaxRetry = absl::Seconds(5);
// Other actors' steps become free within milliseconds if they are used up, or within seconds if an actor is lost.
constexpr absl::Duration kFirstStepsRetry = absl::Milliseconds(10);
constexpr absl::Duration kMaxStepsRetry = absl::Seconds(1);
// Limit for the acknowledgement of the last rows, and for the last report to the hub.
constexpr absl::Duration kGoodbyeTimeout = absl::Seconds(2);
// Limit for the last rows of a run that is over: rows that the rate limiter keeps out then stay out.
constexpr absl::Duration kLastRowsTimeout = absl::Milliseconds(100);

// Facts that both kinds of process know once there is an experiment.
struct Setting {
  Assignment assignment;
  Experiment experiment;
  std::unique_ptr<EpisodeSource> episodes;          // Null if the process imports none.
  std::unique_ptr<VectorEnvironment> environments;  // Null if the process does not act.
  EnvironmentSpec environment;                      // One agent's in self-play, also before there are opponents.
  Rng rng = Rng(0);                                 // This process's own.
  uint64_t since_cut = 0;                           // In lock-step: the cut that all of it follows from.
};

// The lanes that a process of this role steps.
LaneOptions LanesOf(const Experiment& experiment, Role role) {
  LaneOptions lanes;
  lanes.lanes = role == Role::kEvaluator ? experiment.evaluation.episodes : experiment.actor.lanes;
  lanes.in_order = role == Role::kEvaluator || experiment.experiment.deterministic;
  lanes.raw_rewards = role == Role::kEvaluator;
  return lanes;
}

// Opens the environment of an actor or an evaluator.
absl::Status OpenTheEnvironment(const ActorPorts& ports, Role role, const StopToken& stop, Setting* setting) {
  const Experiment& experiment = setting->experiment;
  ports.metrics->SetActivity("opening the environment");
  WAGGLE_ASSIGN_OR_RETURN(
      setting->environments,
      OpenEnvironment(*ports.environments,
                      role == Role::kEvaluator ? experiment.evaluation.environment : experiment.environment,
                      LanesOf(experiment, role), Rng(setting->rng.Next()), stop));
  setting->environment = setting->environments->spec();
  if (role == Role::kActor && experiment.actor.self_play.has_value()) {
    WAGGLE_ASSIGN_OR_RETURN(setting->environment, SelfPlaySpec(setting->environment));
  }
  return absl::OkStatus();
}

// Gives up once `stop` is requested.
absl::StatusOr<Setting> WaitForExperiment(const ActorPorts& ports, Role role, const StopToken& stop) {
  ports.metrics->SetActivity("waiting for an experiment");
  Setting setting;
  WAGGLE_ASSIGN_OR_RETURN(setting.assignment,
                          AwaitHub(ports.hub, "an experiment", stop, [](const Assignment& assignment) {
                            return assignment.run_state != RunState::kNoExperiment && !IsOver(assignment.run_state) &&
                                   !assignment.experiment_yaml.empty();
                          }));
  WAGGLE_ASSIGN_OR_RETURN(setting.experiment,
                          ParseWithSettings(setting.assignment.experiment_yaml, "the hub's experiment",
                                            setting.assignment.settings, *ports.algorithms));
  const uint64_t of_index = Rng::Split(static_cast<uint64_t>(setting.experiment.experiment.seed), RoleName(role),
                                       static_cast<uint64_t>(setting.assignment.index))
                                .Next();
  // A restarted process must not repeat earlier draws.
  setting.rng = Rng::Split(of_index, "life", setting.assignment.life);
  if (setting.assignment.turn.has_value() && setting.assignment.turn->since_cut > 0) {
    setting.since_cut = setting.assignment.turn->since_cut;
    setting.rng = Rng::Split(setting.rng.Next(), "cut", setting.since_cut);
  }
  if (role == Role::kEvaluator && !setting.experiment.evaluation.enabled) {
    return setting;
  }
  const std::string& import = setting.experiment.replay.import;
  if (role == Role::kActor && setting.assignment.index == 0 && !import.empty()) {
    ports.metrics->SetActivity("opening recorded episodes");
    WAGGLE_ASSIGN_OR_RETURN(setting.episodes, ports.open_episodes(import, setting.experiment.environment.python, stop));
  }
  const bool only_imports = role == Role::kActor && !setting.experiment.actor.acts();
  if (only_imports && setting.episodes != nullptr && setting.episodes->environment().has_value()) {
    setting.environment = *setting.episodes->environment();
  } else {
    WAGGLE_RETURN_IF_ERROR(OpenTheEnvironment(ports, role, stop, &setting));
  }
  WAGGLE_RETURN_IF_ERROR(setting.environment.Validate());
  WAGGLE_RETURN_IF_ERROR(CheckAgainstEnvironment(setting.experiment, setting.environment, *ports.algorithms));
  WAGGLE_RETURN_IF_ERROR(
      CheckOwnMemory(role, setting.experiment, setting.environment, *ports.algorithms, ports.memory_bytes));
  LogInfo(setting.experiment.experiment.name, ": ", RoleName(role), " ", setting.assignment.index, ", life ",
          setting.assignment.life, ", of ", setting.environment.DebugString());
  return setting;
}

// Reports the environment's spec to the hub. FAILED_PRECONDITION if other actors have another one.
absl::Status AgreeOnEnvironment(const ActorPorts& ports, const Setting& setting) {
  ports.hub->ReportEnvironment(setting.environment);
  WAGGLE_ASSIGN_OR_RETURN(const Assignment assignment,
                          AwaitHub(ports.hub, "the run's environment", ports.hub->training_over(),
                                   [](const Assignment& known) { return known.environment.has_value(); }));
  if (!(*assignment.environment == setting.environment)) {
    return absl::FailedPreconditionError(absl::StrCat("environment: got ", setting.environment.DebugString(),
                                                      "; wanted the run's, ", assignment.environment->DebugString()));
  }
  return absl::OkStatus();
}

// A connection to replay, with every table of the plans created.
absl::StatusOr<std::unique_ptr<ReplayConnection>> OpenReplay(const ActorPorts& ports, const Experiment& experiment,
                                                             const std::vector<TablePlan>& plans) {
  ports.metrics->SetActivity("waiting for replay");
  const StopToken& stop = ports.hub->training_over();
  WAGGLE_ASSIGN_OR_RETURN(const std::vector<std::string> addresses,
                          AwaitReplayServers(ports.hub, experiment.replay.servers, stop,
                                             ReplayServersPatience(experiment.experiment.deterministic)));
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ReplayConnection> connection, ports.connect_replay(addresses));
  for (const TablePlan& plan : plans) {
    WAGGLE_RETURN_IF_ERROR(
        Annotate(connection->CreateTable(plan.table, stop), absl::StrCat("creating table ", plan.table.name)));
  }
  return connection;
}

ReplayWriterOptions WriterOptions(const ActorPorts& ports, const Setting& setting,
                                  const std::vector<TablePlan>& plans) {
  const ActorOptions& actor = setting.experiment.actor;
  ReplayWriterOptions options;
  options.writer_id =
      setting.since_cut == 0 ? ports.process_id : absl::StrCat(ports.process_id, "/cut-", setting.since_cut);
  for (const TablePlan& plan : plans) {
    options.tables.push_back(plan.table.name);
  }
  if (!plans.empty()) {
    options.signature = plans[0].table.signature;
    options.compression = plans[0].table.compression;
  }
  options.max_unacknowledged_blocks = actor.max_unacknowledged_blocks;
  options.awaits_all_shards = setting.experiment.experiment.deterministic;
  options.max_unacknowledged_bytes = actor.max_unacknowledged_mebibytes << 20;
  return options;
}

// The tables that actors fill, or those for imported episodes: tables of their own if the plan has such. Modules'
// tables are the actors' alone.
std::vector<TablePlan> TablesToFill(const AlgorithmPlan& plan, bool imports) {
  std::vector<TablePlan> acted, imported;
  for (const TablePlan& table : plan.tables) {
    if (!imports || !table.is_modules) {
      (table.adds_to.empty() ? acted : imported).push_back(table);
    }
  }
  return imports && !imported.empty() ? imported : acted;
}

// INVALID_ARGUMENT if the tables would lose recorded steps, or the learner's first steps could not be made.
absl::Status CheckRoom(const Experiment& experiment, const std::vector<TablePlan>& plans,
                       const RecordedCounts& counts) {
  Problems problems;
  const int64_t period = experiment.learner.publish_period_steps;
  // Actors wait for published weights.
  const int64_t first = (experiment.actor.first_learner_step + period - 1) / period * period;
  const bool learns_alone = !experiment.actor.acts() || first > 0;
  for (const TablePlan& plan : plans) {
    const int64_t least = plan.table.rate_limiter.min_items;
    problems.AddUnless(!learns_alone || least <= counts.steps, "replay.rate_limiter.min_items: got ", least,
                       "; wanted at most the ", counts.steps, " recorded steps, to which no actor adds");
    const bool holds = plan.window.kind != WindowPlan::Kind::kNStep || plan.table.max_items >= counts.steps;
    problems.AddUnless(holds, "replay.max_items: got ", plan.table.max_items, "; wanted at least the ", counts.steps,
                       " recorded steps");
    const double allowed = static_cast<double>(counts.steps) * plan.table.rate_limiter.samples_per_insert;
    problems.AddUnless(allowed == 0 || static_cast<double>(first * plan.batch_size) <= allowed,
                       "actor.first_learner_step: got ", experiment.actor.first_learner_step,
                       ", for which weights are published at step ", first, "; wanted at most ",
                       allowed / static_cast<double>(plan.batch_size),
                       ": rate_limiter.samples_per_insert allows no more samples of ", counts.steps, " steps");
  }
  return problems.ToStatus();
}

// Writes the recorded episodes to the tables of the plans. A restarted actor repeats the blocks, which are not applied
// again. Returns their writer: while it lives the servers remember its blocks.
absl::StatusOr<std::unique_ptr<ReplayWriter>> Import(const ActorPorts& ports, const Setting& setting,
                                                     std::vector<TablePlan> plans, ReplayConnection* replay) {
  EpisodeSource& episodes = *setting.episodes;
  const StopToken& stop = ports.hub->training_over();
  ports.metrics->SetActivity("importing recorded episodes");
  WAGGLE_RETURN_IF_ERROR(CheckSource(episodes, setting.environment));
  WAGGLE_ASSIGN_OR_RETURN(const RecordedCounts counts, CheckEpisodes(&episodes, setting.environment, stop));
  WAGGLE_RETURN_IF_ERROR(CheckRoom(setting.experiment, plans, counts));
  for (TablePlan& plan : plans) {
    plan.initial_priority = nullptr;  // It may be of what a policy computes.
  }
  ReplayWriterOptions options = WriterOptions(ports, setting, plans);
  options.writer_id = absl::StrCat(setting.experiment.experiment.name, "/import");
  options.repeats = 1;
  WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ReplayWriter> sink, replay->NewWriter(options));
  TrajectoryWriterOptions writer_options;
  writer_options.lanes = setting.experiment.actor.lanes;
  writer_options.environment = setting.environment;
  writer_options.plans = std::move(plans);
  writer_options.chunk_rows = setting.experiment.actor.chunk_rows;
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<TrajectoryWriter> writer,
                          TrajectoryWriter::Create(writer_options, sink.get()));
  WAGGLE_RETURN_IF_ERROR(ImportEpisodes(&episodes, setting.environment, writer_options.lanes, writer.get(), stop));
  WAGGLE_RETURN_IF_ERROR(FlushUntilStopped([&sink](absl::Duration timeout) { return sink->Flush(timeout); }, stop));
  ports.metrics->Add("imported_episodes", static_cast<double>(counts.episodes));
  ports.metrics->Add("imported_steps", static_cast<double>(counts.steps));
  LogInfo("imported ", counts.episodes, " episodes with ", counts.steps, " steps from ", episodes.name());
  return sink;
}

// The run's number of lanes. Actors that the experiment asks for are counted before they join.
int64_t AllLanes(const Setting& setting, int64_t actors_now) {
  const ActorOptions& actor = setting.experiment.actor;
  return std::max({actors_now, actor.processes, setting.assignment.index + 1}) * actor.lanes;
}

PolicyRequest ActorPolicy(Setting* setting) {
  const ActorOptions& actor = setting->experiment.actor;
  PolicyRequest request;
  request.experiment = &setting->experiment;
  request.environment = setting->environment;
  request.lanes = actor.lanes;
  request.first_lane = setting->assignment.index * actor.lanes;
  request.all_lanes = AllLanes(*setting, setting->assignment.actors);
  request.seed = setting->rng.Next();
  // The average steps of the run's lanes so far; 0 in an index's first life, so that it follows from the seed. At a cut
  // it follows from the cut.
  const int64_t earlier = setting->since_cut > 0          ? setting->assignment.progress.env_steps
                          : setting->assignment.life == 0 ? 0
                                                          : setting->assignment.earlier_env_steps;
  request.first_step = earlier / request.all_lanes;
  return request;
}

// The policy of `actor.inference`.
absl::StatusOr<std::unique_ptr<Policy>> NewActorPolicy(const ActorPorts& ports, const ExperimentPlan& plan,
                                                       Setting* setting) {
  if (!setting->experiment.actor.asks_learner()) {
    return ports.new_policy(ActorPolicy(setting));
  }
  RemotePolicyOptions options;
  options.address = [hub = ports.hub] {
    const Assignment assignment = hub->assignment();
    return assignment.learners.empty() ? std::string() : assignment.learners[0];
  };
  options.worker_id = ports.process_id;
  options.index = setting->assignment.index;
  options.lanes = setting->experiment.actor.lanes;
  options.environment = setting->environment;
  options.columns = plan.algorithm.columns;
  options.private_columns = plan.algorithm.private_columns;
  options.network_hash = plan.acting_hash();
  return ports.new_remote_policy(std::move(options), ports.hub->training_over());
}

// Lets opponents act for the environment's second agent if the experiment asks for self-play. Returns their league,
// which the environment owns, or null.
absl::StatusOr<League*> AddOpponents(const ActorPorts& ports, Setting* setting) {
  const std::optional<SelfPlayOptions>& options = setting->experiment.actor.self_play;
  if (!options.has_value()) {
    return nullptr;
  }
  std::vector<std::unique_ptr<Policy>> policies;
  for (int64_t i = 0; i < options->policies(); ++i) {
    policies.emplace_back();
    WAGGLE_ASSIGN_OR_RETURN(policies.back(), ports.new_policy(ActorPolicy(setting)));
  }
  WAGGLE_ASSIGN_OR_RETURN(
      std::unique_ptr<SelfPlayEnvironment> environments,
      SelfPlayEnvironment::Create(std::move(setting->environments),
                                  std::make_unique<League>(*options, std::move(policies)), Rng(setting->rng.Next())));
  League* const league = &environments->league();
  setting->environments = std::move(environments);
  return league;
}

// The destination of an actor's rows: replay, or a gradient worker.
struct Outlet {
  std::unique_ptr<ReplayConnection> replay;
  std::unique_ptr<ReplayWriter> writer;
  GradientWorker* gradients = nullptr;  // The writer, if it is a gradient worker.
};

// Publishes the run's first weights, unless another worker has.
absl::Status PublishFirstWeights(const ActorPorts& ports, GradientWorker* worker, const StopToken& stop) {
  WAGGLE_ASSIGN_OR_RETURN(const ModelSnapshot weights, worker->FirstWeights());
  const std::unique_ptr<ModelPublisher> publisher = ports.new_publisher();
  absl::Status published = PublishFirst(weights, publisher.get(), stop);
  while (IsServerAway(published) && !stop.WaitFor(kMaxStepsRetry)) {
    published = PublishFirst(weights, publisher.get(), stop);
  }
  return Annotate(published, "publishing the first weights");
}

absl::StatusOr<Outlet> OpenOutlet(const ActorPorts& ports, const Setting& setting,
                                  const std::vector<TablePlan>& plans) {
  Outlet outlet;
  if (setting.experiment.learner.actors_push()) {
    WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<GradientWorker> worker,
                            ports.new_gradient_worker(setting.experiment, setting.environment));
    WAGGLE_RETURN_IF_ERROR(PublishFirstWeights(ports, worker.get(), ports.hub->training_over()));
    outlet.gradients = worker.get();
    outlet.writer = std::move(worker);
    return outlet;
  }
  WAGGLE_ASSIGN_OR_RETURN(outlet.replay, OpenReplay(ports, setting.experiment, plans));
  WAGGLE_ASSIGN_OR_RETURN(outlet.writer, outlet.replay->NewWriter(WriterOptions(ports, setting, plans)));
  return outlet;
}

// `done`: the last turn, in lock-step. ABORTED if the actor must begin anew.
absl::Status Act(const ActorPorts& ports, uint64_t* done) {
  const StopToken& stop = ports.hub->training_over();
  WAGGLE_ASSIGN_OR_RETURN(Setting setting, WaitForExperiment(ports, Role::kActor, stop));
  const ActorOptions& actor = setting.experiment.actor;
  WAGGLE_RETURN_IF_ERROR(AgreeOnEnvironment(ports, setting));
  WAGGLE_ASSIGN_OR_RETURN(const ExperimentPlan plan,
                          PlanExperiment(setting.experiment, setting.environment, *ports.algorithms));
  const std::vector<TablePlan> plans = TablesToFill(plan.algorithm, /*imports=*/false);
  std::unique_ptr<ReplayConnection> import_connection;
  std::unique_ptr<ReplayWriter> import_writer;
  if (setting.episodes != nullptr) {
    WAGGLE_ASSIGN_OR_RETURN(import_connection, OpenReplay(ports, setting.experiment, plan.algorithm.tables));
    absl::StatusOr<std::unique_ptr<ReplayWriter>> imported =
        Import(ports, setting, TablesToFill(plan.algorithm, /*imports=*/true), import_connection.get());
    WAGGLE_RETURN_IF_ERROR(Annotate(imported.status(), absl::StrCat("replay.import: ", setting.episodes->name())));
    import_writer = *std::move(imported);
  }
  if (!actor.acts()) {
    ports.hub->ReportFirstStep();
    ports.metrics->SetActivity("does not act");
    stop.Wait();
    return absl::OkStatus();
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<Policy> policy, NewActorPolicy(ports, plan, &setting));
  WAGGLE_ASSIGN_OR_RETURN(League* const league, AddOpponents(ports, &setting));
  WAGGLE_ASSIGN_OR_RETURN(const Outlet outlet, OpenOutlet(ports, setting, plans));
  ReplayWriter* const sink = outlet.writer.get();

  TrajectoryWriterOptions writer_options;
  writer_options.lanes = actor.lanes;
  writer_options.environment = setting.environment;
  writer_options.policy_columns = policy->columns();
  writer_options.private_columns = static_cast<int64_t>(policy->private_columns().size());
  writer_options.plans = plans;
  writer_options.chunk_rows = actor.chunk_rows;
  if (outlet.gradients != nullptr) {  // A block is an unroll of every lane.
    writer_options.plans[0].window.period = writer_options.chunk_rows = plans[0].window.length;
    writer_options.max_block_bytes = std::numeric_limits<int64_t>::max();
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<TrajectoryWriter> writer,
                          TrajectoryWriter::Create(std::move(writer_options), sink));
  std::optional<WeightRefresher> weights;
  if (!actor.asks_learner()) {
    WAGGLE_ASSIGN_OR_RETURN(std::unique_ptr<ModelSubscriber> subscriber,
                            ports.new_subscriber(setting.experiment.experiment.name));
    weights.emplace(absl::Seconds(actor.refresh_seconds), Backoff(kFirstRetry, kMaxRetry, Rng(setting.rng.Next())),
                    std::move(subscriber), stop);
  }

  std::optional<TurnTaker> turns;
  if (setting.experiment.experiment.deterministic) {
    turns.emplace(ports.hub, Role::kActor, setting.since_cut, *done);
  }
  // In lock-step there is no budget: the run ends after the turn that reaches the limit.
  std::optional<StepBudget> budget;
  if (setting.experiment.stop.max_env_steps > 0 && !turns.has_value()) {
    budget.emplace(
        actor.lanes * plan.algorithm.rows_per_version.value_or(actor.chunk_rows),
        Backoff(kFirstStepsRetry, kMaxStepsRetry, Rng(setting.rng.Next())),
        [hub = ports.hub](const StepRequest& request, const StopToken& until) {
          return hub->TakeSteps(request, until);
        },
        stop);
  }

  RolloutOptions rollout;
  rollout.first_version = static_cast<uint64_t>(actor.first_learner_step);
  rollout.rows_per_version = plan.algorithm.rows_per_version.value_or(0);
  if (outlet.gradients != nullptr) {
    rollout.rows_per_version = plans[0].window.length - 1;
    rollout.awaits_versions = false;
    rollout.max_block_age = absl::InfiniteDuration();
  }
  const auto on_weights = [worker = outlet.gradients, league](const ModelSnapshot& snapshot) -> absl::Status {
    if (worker != nullptr) {
      WAGGLE_RETURN_IF_ERROR(worker->LoadWeights(snapshot));
    }
    return league != nullptr ? league->Take(snapshot) : absl::OkStatus();
  };
  const auto all_lanes = [&setting, hub = ports.hub, league] {
    const int64_t lanes = AllLanes(setting, hub->assignment().actors);
    if (league != nullptr) {
      league->SetAllLanes(lanes);
    }
    return lanes;
  };
  std::function<int64_t()> unrolls_per_version;
  if (rollout.rows_per_version > 0 && rollout.awaits_versions) {
    unrolls_per_version = UnrollsPerVersion(setting.experiment, setting.assignment.index,
                                            [hub = ports.hub] { return hub->assignment().actors; });
  }
  LiveExploration exploration(setting.experiment, setting.environment, *ports.algorithms);
  const auto take_settings = [&]() -> absl::Status {
    const std::string settings = ports.hub->assignment().settings;
    WAGGLE_ASSIGN_OR_RETURN(const std::optional<ExplorationOptions> changed, exploration.Take(settings));
    if (changed.has_value()) {
      policy->SetExploration(*changed);
      if (league != nullptr) {
        league->SetExploration(*changed);
      }
    }
    return changed.has_value() && outlet.gradients != nullptr ? outlet.gradients->Set(settings) : absl::OkStatus();
  };
  RolloutLoop loop(
      rollout, {policy.get(), setting.environments.get(), writer.get(), sink, weights.has_value() ? &*weights : nullptr,
                ports.metrics, budget.has_value() ? &*budget : nullptr, all_lanes, unrolls_per_version,
                [hub = ports.hub] { hub->ReportFirstStep(); }, turns.has_value() ? &*turns : nullptr, on_weights,
                take_settings});
  const absl::Status acted = loop.Run(stop);
  *done = turns.has_value() ? turns->done() : 0;
  WAGGLE_RETURN_IF_ERROR(acted);
  const bool over = IsTrainingOver(ports.hub->assignment().run_state);
  if (const absl::Status flushed = sink->Flush(over ? kLastRowsTimeout : kGoodbyeTimeout); !flushed.ok()) {
    // Once the run is over there are no more samples, so the rate limiter may keep the rows out for good.
    if (over) {
      LogInfo("the run is over; the last rows are not learned from: ", flushed.message());
    } else {
      LogWarning("the last rows may be lost: ", flushed.ToString());
    }
  }
  return absl::OkStatus();
}

// As Act.
absl::Status EvaluateRun(const ActorPorts& ports, uint64_t* done) {
  const StopToken& stop = ports.hub->run_over();
  WAGGLE_ASSIGN_OR_RETURN(Setting setting, WaitForExperiment(ports, Role::kEvaluator, stop));
  const EvaluationOptions& evaluation = setting.experiment.evaluation;
  if (!evaluation.enabled) {
    LogInfo("the experiment asks for no evaluation");
    ports.metrics->SetActivity("not asked for");
    stop.Wait();
    return absl::OkStatus();
  }
  if (!setting.experiment.replay.import.empty()) {
    WAGGLE_ASSIGN_OR_RETURN(const Assignment assignment,
                            AwaitHub(ports.hub, "the environment of the recorded episodes", stop,
                                     [](const Assignment& known) { return known.environment.has_value(); }));
    WAGGLE_RETURN_IF_ERROR(Annotate(CheckSameSpaces(setting.environment, *assignment.environment),
                                    "evaluation.environment differs from that of the recorded episodes"));
  }
  PolicyRequest request;
  request.experiment = &setting.experiment;
  request.environment = setting.environment;
  request.lanes = request.all_lanes = evaluation.episodes;
  request.seed = setting.rng.Next();
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<Policy> policy, ports.new_policy(request));
  Evaluator evaluator(std::move(setting.environments), policy.get());
  WAGGLE_ASSIGN_OR_RETURN(const std::unique_ptr<ModelSubscriber> subscriber,
                          ports.new_subscriber(setting.experiment.experiment.name));
  std::optional<TurnTaker> turns;
  if (setting.experiment.experiment.deterministic) {
    turns.emplace(ports.hub, Role::kEvaluator, setting.since_cut, *done);
  }
  EvaluationLoop loop(
      {evaluation.episodes, evaluation.confirm_episodes, absl::Seconds(evaluation.period_seconds),
       evaluation.period_learner_steps.value_or(0), setting.experiment.stop.target_return},
      Backoff(kFirstRetry, kMaxRetry, Rng(setting.rng.Next())),
      {&evaluator, policy.get(), subscriber.get(), ports.hub, ports.metrics, turns.has_value() ? &*turns : nullptr});
  const absl::Status evaluated = loop.Run(stop);
  *done = turns.has_value() ? turns->done() : 0;
  return evaluated;
}

// Works until the run is over. In lock-step the work begins anew after each cut.
absl::Status WorkThroughCuts(const ActorPorts& ports, absl::Status (*work)(const ActorPorts& ports, uint64_t* done)) {
  uint64_t done = 0;
  absl::Status status = work(ports, &done);
  while (absl::IsAborted(status) && ports.hub->assignment().turn.has_value()) {
    LogInfo(status.message());
    ports.metrics->ForgetGauges();
    status = work(ports, &done);
  }
  return status;
}

// Leaves the hub once the run is over, or at once, with the reason, after an error.
absl::Status Finish(const ActorPorts& ports, const absl::Status& status) {
  if (status.ok() || (absl::IsCancelled(status) && ports.hub->training_over().StopRequested())) {
    ports.metrics->SetActivity("done");
    ports.hub->run_over().Wait();
  }
  const absl::Status end = WorkResult(status, ports.hub);
  ports.hub->Leave(kGoodbyeTimeout);
  return end;
}

}  // namespace

absl::Status RunActor(const ActorPorts& ports) {
  return Finish(ports, WorkThroughCuts(ports, &Act));
}

absl::Status RunEvaluator(const ActorPorts& ports) {
  return Finish(ports, WorkThroughCuts(ports, &EvaluateRun));
}

}  // namespace waggle
