#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/check/check_report.h"
#include "cli/check/checked_experiment.h"
#include "cli/command_line.h"
#include "cli/experiments/change.h"
#include "cli/experiments/cuts.h"
#include "cli/experiments/experiment_client.h"
#include "cli/experiments/experiment_verbs.h"
#include "cli/experiments/watch.h"
#include "cli/export/export_policy.h"
#include "cli/play/play.h"
#include "cli/replay/inspect.h"
#include "cli/replay/inspect_report.h"
#include "cli/replay/reconfigure.h"
#include "cli/replay/replay_files.h"
#include "cli/replay/replay_servers.h"
#include "cli/replay/why.h"
#include "cli/replay/why_report.h"
#include "cli/results/fetch.h"
#include "cli/results/named_runs.h"
#include "cli/results/run_program.h"
#include "cli/results/write_card.h"
#include "cli/run/local_run.h"
#include "cli/serve/serve_environment.h"
#include "cli/shipped/shipped_experiments.h"
#include "cli/status/health.h"
#include "cli/status/replay_status.h"
#include "cli/status/top.h"
#include "common/base/log_context.h"
#include "common/base/machine_memory.h"
#include "common/base/out_of_memory.h"
#include "common/base/process/curves.h"
#include "common/base/process/find_program.h"
#include "common/base/process/process.h"
#include "common/base/process/security_flags.h"
#include "common/base/status_macros.h"
#include "common/config/experiment/memory_estimate.h"
#include "common/config/yaml_file.h"
#include "common/net/security/security.h"
#include "common/rl/algorithms/definitions.h"

namespace waggle {
namespace {

constexpr absl::Duration kStatusTimeout = absl::Seconds(3);
constexpr absl::Duration kResolveTimeout = absl::Seconds(5);
// The interval over which rates are measured if no parameter server knows them.
constexpr absl::Duration kRatesInterval = absl::Seconds(1);

int Complain(const char* verb, const absl::Status& status, int exit_status) {
  // One problem a line; each line must be clear by itself.
  std::cerr << "waggle " << verb << ": " << status.message() << std::endl;
  return exit_status;
}

// True if the request was wrong; false if a server is away.
bool IsUsersFault(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status);
}

// The exit status if the servers to ask are not found. A server of another kind is a wrong flag; a hub that knows no
// server yet is not.
int FindExitStatus(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) ? 2 : 1;
}

// Names the missing servers on the standard error: the verb asks only those that are there.
void TellMissing(const char* verb, const ReplayServers& servers) {
  for (const MissingReplayServer& server : servers.missing()) {
    std::cerr << "waggle " << verb << ": " << MissingText(server) << "\n";
  }
}

// Prints a hub's answer about experiments.
int Tell(const char* verb, const absl::StatusOr<std::string>& answer) {
  if (!answer.ok()) {
    return Complain(verb, answer.status(), ExperimentExitStatus(answer.status()));
  }
  std::cout << *answer << std::flush;
  return 0;
}

int Do(const PrintAndExit& print) {
  (print.status == 0 ? std::cout : std::cerr) << print.text << std::flush;
  return print.status;
}

int Do(const ConfigsFlags& flags) {
  const std::string folder = ShippedFolder(OwnFolder());
  if (flags.name.empty()) {
    const absl::StatusOr<std::vector<ShippedExperiment>> experiments = ListShipped(folder);
    if (!experiments.ok()) {
      return Complain("configs", experiments.status(), 2);
    }
    std::cout << ShippedText(*experiments) << std::flush;
    return 0;
  }
  const absl::StatusOr<std::string> file = ShippedFile(folder, flags.name);
  const absl::StatusOr<std::string> text = file.ok() ? ReadYamlFile(*file) : file.status();
  if (!text.ok()) {
    return Complain("configs", text.status(), 2);
  }
  std::cout << *text << std::flush;
  return 0;
}

int Do(const TokenFlags& flags) {
  if (flags.name.empty() || !std::all_of(flags.name.begin(), flags.name.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '_' || c == '-';
      })) {
    return Complain("token",
                    absl::InvalidArgumentError(absl::StrCat("NAME: got \"", absl::CHexEscape(flags.name),
                                                            "\"; wanted letters, digits, _ and -")),
                    2);
  }
  const absl::StatusOr<std::string> token = NewToken();
  if (!token.ok()) {
    return Complain("token", token.status(), 1);
  }
  std::cout << "token: " << *token << "\nIn the file of --access, under callers:\n  " << flags.name << ": {roles: ["
            << AccessRoleName(flags.role) << "], tokens: [\"" << TokenHash(*token) << "\"]}\n";
  return 0;
}

int Do(const RunFlags& flags) {
  ForgetSecurityVariables();  // The run's processes connect on this machine alone.
  return RunLocally(flags, OwnFolder());
}

int Do(const StatusFlags& flags) {
  if (!flags.target.replay_servers.empty()) {
    const auto servers =
        AskReplayStatus(flags.target.replay_servers, flags.target.experiment_id, kStatusTimeout, kRatesInterval);
    if (!servers.ok()) {
      return Complain("status", servers.status(), FindExitStatus(servers.status()));
    }
    std::cout << (flags.json ? ReplayStatusJson(*servers) : ReplayStatusText(*servers)) << std::flush;
    return 0;
  }
  return Tell("status", AskStatus(flags));
}

// Runs `body`, which returns the exit status, until a signal stops it; then it still tidies up.
int DoUntilStopped(const std::function<int(const StopToken& stop)>& body) {
  int exit_status = 1;
  const int status = RunProcess("waggle", LogLevel::kWarning, [&](const StopToken& stop) {
    exit_status = body(stop);
    return absl::OkStatus();
  });
  return status != 0 ? status : exit_status;
}

int Do(const TopFlags& flags) {
  return DoUntilStopped([&flags](const StopToken& stop) {
    const absl::Status done = RunTop(flags, stop, STDIN_FILENO, STDOUT_FILENO);
    return done.ok() ? 0 : Complain("top", done, ExperimentExitStatus(done));
  });
}

// Makes a verb that only prints end with its reader: `waggle watch ID --json | head -1`.
void EndWithReader() {
  signal(SIGPIPE, SIG_DFL);
}

int WatchUntilStopped(const char* verb, const WatchFlags& flags, bool has_answered, const StopToken& stop) {
  EndWithReader();
  ProgressPrinter printer;
  WatchOptions options;
  options.has_answered = has_answered;
  const absl::StatusOr<int> watched = WatchExperiment(flags, stop, &printer, &std::cout, options);
  return watched.ok() ? *watched : Complain(verb, watched.status(), ExperimentExitStatus(watched.status()));
}

int Do(const SubmitFlags& flags) {
  return DoUntilStopped([&flags](const StopToken& stop) {
    const absl::StatusOr<Submitted> submitted =
        Submit(flags, stop, [](const std::string& line) { std::cerr << "waggle submit: " << line << std::endl; });
    if (!submitted.ok()) {
      return Complain("submit", submitted.status(), ExperimentExitStatus(submitted.status()));
    }
    std::cout << submitted->text << std::flush;
    if (!flags.watch) {  // `waggle watch` prints this itself.
      std::cerr << submitted->standing;
    }
    return flags.watch ? WatchUntilStopped("submit", {flags.param_server, submitted->id, flags.json}, true, stop) : 0;
  });
}

int Do(const ListFlags& flags) {
  return Tell("list", AskList(flags));
}

int Do(const WatchFlags& flags) {
  return DoUntilStopped([&flags](const StopToken& stop) {
    const absl::StatusOr<std::string> id =
        ExperimentClient(flags.param_server).ResolveOne(flags.id, kResolveTimeout, stop);
    return id.ok() ? WatchUntilStopped("watch", {flags.param_server, *id, flags.json}, true, stop)
                   : Complain("watch", id.status(), ExperimentExitStatus(id.status()));
  });
}

// Prints the experiments that were changed, and why the others were not. The exit status is the largest of all.
int TellChanged(const char* verb, const absl::StatusOr<Changed>& changed) {
  if (!changed.ok()) {
    return Complain(verb, changed.status(), ExperimentExitStatus(changed.status()));
  }
  std::cout << changed->text << std::flush;
  int exit_status = 0;
  for (const absl::Status& error : changed->errors) {
    exit_status = std::max(exit_status, Complain(verb, error, ExperimentExitStatus(error)));
  }
  return exit_status;
}

int Do(const ChangeFlags& flags) {
  return TellChanged(ChangeName(flags.change), Change(flags));
}

int Do(const SetFlags& flags) {
  return TellChanged("set", SetNumbers(flags));
}

int Do(const LogsFlags& flags) {
  return DoUntilStopped([&flags](const StopToken& stop) {
    EndWithReader();
    const absl::Status done = Logs(flags, stop, &std::cout);
    return done.ok() ? 0 : Complain("logs", done, ExperimentExitStatus(done));
  });
}

int Do(const FetchFlags& flags) {
  return DoUntilStopped([&flags](const StopToken& stop) {
    const absl::StatusOr<std::string> fetched = Fetch(flags, stop);
    if (!fetched.ok()) {
      return Complain("fetch", fetched.status(), ExperimentExitStatus(fetched.status()));
    }
    std::cout << *fetched << std::flush;
    return 0;
  });
}

int Do(const CheckFlags& flags) {
  const absl::StatusOr<CheckedExperiment> checked = LoadCheckedExperiment(flags.file, flags.overrides);
  if (!checked.ok()) {
    return Complain("check", checked.status(), 2);
  }
  const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
  const absl::StatusOr<std::string> estimate = EstimateText(checked->experiment, *checked->environment, algorithms);
  const absl::StatusOr<std::vector<ProcessMemory>> memory =
      EstimateMemory(checked->experiment, *checked->environment, algorithms);
  if (!estimate.ok() || !memory.ok()) {
    return Complain("check", estimate.ok() ? memory.status() : estimate.status(), 2);
  }
  const int64_t machine_bytes = MachineMemoryBytes();
  std::cout << ToYaml(checked->experiment) << "\n"
            << (checked->trial.has_value() ? TrialText(*checked->trial) : "") << *estimate
            << MemoryText(*memory, machine_bytes) << std::flush;
  // Only a warning: the experiment may be meant for another machine, or for several.
  if (const absl::Status fits = CheckMemory(*memory, machine_bytes); !fits.ok()) {
    return Complain("check: warning", fits, 0);
  }
  return 0;
}

// Replaces this process with another program, which gets its output and sets its exit status.
int Become(const char* verb, std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& argument : command) {
    arguments.push_back(argument.data());
  }
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  return Complain(verb, absl::ErrnoToStatus(errno, absl::StrCat("cannot start ", command[0])), 1);
}

// Calls `body` with the paths of the runs that a user names. Experiments' files are fetched first, and removed after
// it.
int WithNamedRuns(const char* verb, const std::vector<std::string>& words, const std::string& param_server,
                  NamedRuns::Members members,
                  const std::function<int(const NamedRuns& runs, const StopToken& stop)>& body) {
  return DoUntilStopped([&](const StopToken& stop) {
    const absl::StatusOr<std::unique_ptr<NamedRuns>> runs = NamedRuns::Find(words, param_server, members, stop);
    if (!runs.ok()) {
      return Complain(verb, runs.status(), ExperimentExitStatus(runs.status()));
    }
    if (!(*runs)->left_out().empty()) {
      std::cerr << "waggle " << verb << ": without files yet: " << absl::StrJoin((*runs)->left_out(), ", ")
                << std::endl;
    }
    return body(**runs, stop);
  });
}

int Run(const char* verb, const std::vector<std::string>& command, const StopToken& stop) {
  const absl::StatusOr<int> status = RunProgram(command, stop);
  return !status.ok() ? Complain(verb, status.status(), 1) : stop.StopRequested() ? 130 : *status;
}

std::vector<std::string> EvaluationCommand(const EvaluationFlags& flags) {
  std::vector<std::string> command = ActorArguments(flags);
  command.insert(command.begin(), absl::StrCat(OwnFolder(), "/waggle-actor"));
  return command;
}

int Do(const EvaluationFlags& flags) {
  const char* const verb = flags.record.empty() ? "evaluate" : "record";
  if (!NamesExperiment(flags.path)) {
    return Become(verb, EvaluationCommand(flags));
  }
  return WithNamedRuns(verb, {flags.path}, flags.param_server, NamedRuns::Members::kOne,
                       [&](const NamedRuns& runs, const StopToken& stop) {
                         EvaluationFlags fetched = flags;
                         fetched.path = runs.paths().front();
                         return Run(verb, EvaluationCommand(fetched), stop);
                       });
}

int Do(const PolicyFlags& flags) {
  return WithNamedRuns("export", {flags.path}, flags.param_server, NamedRuns::Members::kOne,
                       [&flags](const NamedRuns& runs, const StopToken& stop) {
                         const std::string output =
                             flags.output.empty() && runs.any_fetched() ? "policy.onnx" : flags.output;
                         const absl::StatusOr<std::string> exported =
                             ExportSavedPolicy(runs.paths().front(), flags.newest, output, stop);
                         if (!exported.ok()) {
                           return Complain("export", exported.status(), IsUsersFault(exported.status()) ? 2 : 1);
                         }
                         std::cout << *exported << std::flush;
                         return 0;
                       });
}

int Do(const DatasetFlags& flags) {
  return DoUntilStopped([&flags](const StopToken& stop) {
    const absl::StatusOr<std::string> imported = ImportDatasets(flags, stop);
    if (!imported.ok()) {
      return Complain("import", imported.status(), ExportExitStatus(imported.status()));
    }
    std::cout << *imported << std::flush;
    return 0;
  });
}

// The size of the standard output; zero if it is no terminal.
TerminalSize OwnTerminal() {
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? TerminalSize{size.ws_col, size.ws_row} : TerminalSize();
}

int Do(const PlayFlags& flags) {
  const absl::Status played = Play(flags, OwnTerminal(), &std::cin, &std::cout, &std::cerr);
  return played.ok() ? 0 : Complain("play", played, IsUsersFault(played) || absl::IsUnimplemented(played) ? 2 : 1);
}

int Do(const HealthFlags& flags) {
  if (const absl::Status status = AskHealth(flags.address, flags.service, kStatusTimeout); !status.ok()) {
    return Complain("health", status, 1);
  }
  std::cout << flags.address << ": serving" << std::endl;
  return 0;
}

// Runs a script over runs that a user names, or becomes it if all of them are paths.
int RunScript(const char* verb, const std::vector<std::string>& words, const std::string& param_server,
              const std::function<absl::StatusOr<std::vector<std::string>>(const std::vector<std::string>& runs,
                                                                           bool any_fetched)>& command) {
  if (std::none_of(words.begin(), words.end(), &NamesExperiment)) {
    absl::StatusOr<std::vector<std::string>> script = command(words, false);
    return script.ok() ? Become(verb, *std::move(script)) : Complain(verb, script.status(), kNoPlotter);
  }
  return WithNamedRuns(
      verb, words, param_server, NamedRuns::Members::kAll, [&](const NamedRuns& runs, const StopToken& stop) {
        const absl::StatusOr<std::vector<std::string>> script = command(runs.paths(), runs.any_fetched());
        return script.ok() ? Run(verb, *script, stop) : Complain(verb, script.status(), kNoPlotter);
      });
}

int Do(const PlotFlags& flags) {
  return RunScript("plot", flags.runs, flags.param_server,
                   [&flags](const std::vector<std::string>& runs, bool any_fetched) {
                     const std::string out = flags.out.empty() && any_fetched ? "curves.png" : flags.out;
                     return PlotCommand(OwnFolder(), runs, out, flags.returns_only);
                   });
}

int Do(const CompareFlags& flags) {
  return RunScript("compare", flags.runs, flags.param_server,
                   [&flags](const std::vector<std::string>& runs, bool /*any_fetched*/) {
                     return CompareCommand(OwnFolder(), runs, flags.by, flags.json);
                   });
}

int Do(const CardFlags& flags) {
  return WithNamedRuns("card", {flags.run}, flags.param_server, NamedRuns::Members::kOne,
                       [&flags](const NamedRuns& runs, const StopToken& stop) {
                         const std::string& run = runs.paths().front();
                         const std::string folder = !flags.folder.empty() ? flags.folder
                                                    : runs.any_fetched()  ? absl::StrCat(flags.run, "-card")
                                                                          : absl::StrCat(run, "/card");
                         const absl::StatusOr<std::string> written = WriteCard(run, folder, flags, OwnFolder(), stop);
                         if (!written.ok()) {
                           return Complain("card", written.status(), ExperimentExitStatus(written.status()));
                         }
                         std::cout << *written << std::flush;
                         return 0;
                       });
}

int Do(const WhyFlags& flags) {
  absl::StatusOr<ReplayServers> servers = ReplayServers::Find(flags.target, kStatusTimeout);
  if (!servers.ok()) {
    return Complain("why", servers.status(), FindExitStatus(servers.status()));
  }
  Explanations explanations = AskWhy(flags.table, kStatusTimeout, &*servers);
  if (const absl::Status failed = ErrorOfAll(explanations); !failed.ok()) {
    // An unknown table may be on a missing server.
    TellMissing("why", *servers);
    return Complain("why", failed, IsUsersFault(failed) && servers->missing().empty() ? 2 : 1);
  }
  // A table need not be on every server.
  explanations.erase(std::remove_if(explanations.begin(), explanations.end(),
                                    [](const auto& server) { return absl::IsNotFound(server.status); }),
                     explanations.end());
  const MissingServers& missing = servers->missing();
  std::cout << (flags.json ? WhyJson(explanations, missing, servers->silent())
                           : WhyText(explanations, missing, !flags.table.empty(), servers->silent()))
            << std::flush;
  return WhyExitStatus(explanations, missing);
}

// For requests that look at every item.
constexpr absl::Duration kLongTimeout = absl::Seconds(60);

// The cuts of an experiment.
int InspectCuts(const InspectFlags& flags) {
  const auto ask = [&flags]() -> absl::StatusOr<std::string> {
    const ExperimentClient client(flags.target.param_server);
    std::string id;
    if (flags.target.experiment_id.empty()) {
      WAGGLE_ASSIGN_OR_RETURN(const v1::ExperimentInfo running, client.TheRunningOne(kStatusTimeout));
      id = running.id();
    } else {
      WAGGLE_ASSIGN_OR_RETURN(id, client.ResolveOne(flags.target.experiment_id, kStatusTimeout));
    }
    v1::CutsRequest request;
    request.set_id(id);
    WAGGLE_ASSIGN_OR_RETURN(const v1::CutsResponse cuts,
                            client.Ask(&v1::ExperimentService::Stub::Cuts, request, kStatusTimeout));
    return flags.json ? CutsJson(cuts).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
                      : CutsText(id, cuts);
  };
  const absl::StatusOr<std::string> text = ask();
  if (!text.ok()) {
    return Complain("inspect", text.status(), ExperimentExitStatus(text.status()));
  }
  std::cout << *text << std::flush;
  return 0;
}

int Do(const InspectFlags& flags) {
  if (flags.cuts) {
    return InspectCuts(flags);
  }
  absl::StatusOr<ReplayServers> servers = ReplayServers::Find(flags.target, kStatusTimeout);
  if (!servers.ok()) {
    return Complain("inspect", servers.status(), FindExitStatus(servers.status()));
  }
  const absl::StatusOr<Inspections> inspections = AskInspect(flags.question, kLongTimeout, &*servers);
  TellMissing("inspect", *servers);  // The item, or the table, may be on a missing server.
  if (!inspections.ok()) {
    return Complain("inspect", inspections.status(),
                    IsUsersFault(inspections.status()) && servers->missing().empty() ? 2 : 1);
  }
  if (flags.json) {
    std::cout << InspectJson(flags.question.table, *inspections) << std::flush;
  } else if (!flags.question.item.has_value()) {
    std::cout << InspectText(flags.question.table, *inspections) << std::flush;
  } else {
    for (const auto& inspection : *inspections) {
      std::cout << (inspection.status.ok() ? ItemText(flags.question.table, inspection)
                                           : InspectText(flags.question.table, {inspection}));
    }
    std::cout << std::flush;
  }
  return 0;
}

// "user@host", for the servers' logs.
std::string OwnName() {
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, sizeof(host) - 1);
  const char* const user = std::getenv("USER");
  return absl::StrCat(user != nullptr ? user : absl::StrCat("uid-", getuid()), "@", host);
}

int Do(const ReconfigureFlags& flags) {
  absl::StatusOr<ReplayServers> servers = ReplayServers::Find(flags.target, kStatusTimeout);
  if (!servers.ok()) {
    return Complain("reconfigure", servers.status(), FindExitStatus(servers.status()));
  }
  const ReconfigureOutcome done =
      Reconfigure({flags.table, flags.changes, flags.dry_run, OwnName()}, kLongTimeout, &*servers);
  std::cout << done.text << std::flush;
  return done.status.ok() ? 0 : Complain("reconfigure", done.status, IsUsersFault(done.status) ? 2 : 1);
}

// The trace of all calls of this command: that of the program that started it (TRACEPARENT), or a new one.
std::string OwnTraceId() {
  const char* const parent = std::getenv("TRACEPARENT");
  const std::string trace_id = parent == nullptr ? "" : TraceIdIn(parent);
  return trace_id.empty() ? NewTraceId() : trace_id;
}

using Transfer = std::function<absl::StatusOr<std::string>(const StopToken& stop)>;
int DoTransfer(const char* verb, const Transfer& transfer, int (*exit_status)(const absl::Status&)) {
  return DoUntilStopped([&](const StopToken& stop) {
    const absl::StatusOr<std::string> said = transfer(stop);
    if (!said.ok()) {
      return Complain(verb, said.status(), exit_status(said.status()));
    }
    std::cout << *said << std::flush;
    return 0;
  });
}

int Do(const ExportFlags& flags) {
  return DoTransfer(
      "replay export", [&](const StopToken& stop) { return ExportToFile(flags, stop); }, &ExportExitStatus);
}

int Do(const ImportFlags& flags) {
  return DoTransfer(
      "replay import", [&](const StopToken& stop) { return ImportFromFile(flags, stop, &std::cerr); },
      &ImportExitStatus);
}

int Do(const ServeEnvironmentFlags& flags) {
  return DoUntilStopped([&flags](const StopToken& stop) {
    const absl::Status served = ServeEnvironment(flags, stop, &std::cout);
    return served.ok() ? 0 : Complain("serve-environment", served, absl::IsInvalidArgument(served) ? 2 : 1);
  });
}

}  // namespace
}  // namespace waggle

int CommandMain(int argc, char** argv) {
  waggle::EndWhereMemoryRunsOut();
  waggle::SetProcessLogContext({"", "", waggle::OwnTraceId()});
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);  // Errors are told once, by the verb.
  waggle::SecurityOptions security;
  const waggle::Command command = waggle::ParseCommand(argc, argv, &security);
  if (const absl::Status secured = waggle::SetProcessSecurity(security); !secured.ok()) {
    std::cerr << "waggle: " << secured.message() << std::endl;
    return 2;
  }
  const int status = std::visit([](const auto& flags) { return waggle::Do(flags); }, command);
  // If the output cannot be written the verb has failed, whatever its own status.
  if (!std::cout.flush()) {
    std::cerr << "waggle: the standard output cannot be written to" << std::endl;
    return status == 0 ? 1 : status;
  }
  return status;
}
