#include "cli/command_line.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command_line_parts.h"
#include "common/base/build_info.h"
#include "common/base/nearest_name.h"

namespace waggle {
namespace {

constexpr char kHelp[] =
    R"(waggle: distributed actor-learner training of deep reinforcement learning

usage: waggle VERB ...

of experiments on this machine:
  run FILE      train one with processes of its own, and wait for its end
  check FILE    check its file, print every value of it, and estimate what it takes
  evaluate PATH run greedy episodes with what was trained, and say how well it does
  play ENVIRONMENT
                step an environment by hand, or at random
  record PATH --output FILE
                write such episodes to a file of replay, as a data set
  plot RUN ...  draw the curves of runs, as a PNG
  serve-environment NAME
                let others step a built-in environment, by dm_env_rpc

of a parameter server and its pool of processes:
  submit FILE   hand an experiment in, to be run once there is room for it
  list          the experiments that there are
  status [ID]   what each process and each table of an experiment does, or of replay servers alone; without ID: the
                processes of the pool and the experiments
  watch ID      show how an experiment gets on, until it is over
  stop ID       end an experiment
  resume ID     let one that was stopped, or has failed, go on
  delete ID     delete one that has ended, with all that is kept of it
  logs ID       what has happened to an experiment
  health HOST:PORT
                whether a server of any kind serves, by its exit status

of replay tables:
  why [TABLE]   who waits for whom at the tables of a running experiment, why, and what would free them
  inspect TABLE the items of a table: their keys, ages, priorities and writers, or all columns of one
  reconfigure TABLE KEY=VALUE ...
                change the limits of a table while it is in use
  replay export TABLE FILE
                write what a table holds to a file
  replay import FILE
                insert a file's items into a table

  help VERB     the flags of a verb; the same as waggle VERB --help
  --version     print the version
)";

std::vector<Verb> AllVerbs() {
  std::vector<Verb> verbs;
  for (const auto& group : {LocalVerbs(), ExperimentVerbs(), ReplayVerbs()}) {
    verbs.insert(verbs.end(), group.begin(), group.end());
  }
  return verbs;
}

// `got`: none of `verbs`, which stand behind `program`.
PrintAndExit NoSuchVerb(const std::string& program, const std::string& got, const std::vector<std::string>& verbs) {
  return WrongUsage(program,
                    absl::StrCat(got.empty() ? "a verb is missing"
                                             : absl::StrCat("there is no verb \"", got, "\"", DidYouMean(got, verbs)),
                                 "; wanted one of ", absl::StrJoin(verbs, ", ")));
}

std::vector<std::string> NamesOf(const std::vector<Verb>& verbs) {
  std::vector<std::string> names;
  for (const Verb& verb : verbs) {
    names.push_back(verb.name);
  }
  return names;
}

bool IsHelp(const std::string& word) {
  return word == "--help" || word == "-h";
}

// `waggle replay VERB …`.
Command ParseReplay(int argc, const char* const* argv) {
  const std::string name = argc > 2 ? argv[2] : "";
  if (IsHelp(name)) {
    return PrintAndExit{kHelp, 0};
  }
  const std::vector<Verb> verbs = ReplayFileVerbs();
  const Verb* const verb = FindVerb(verbs, name);
  return verb != nullptr ? ParseVerb(*verb, absl::StrCat("waggle replay ", name), argc - 1, argv + 1)
                         : NoSuchVerb("waggle replay", name, NamesOf(verbs));
}

}  // namespace

Command ParseCommand(int argc, const char* const* argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "help" && argc > 2) {
    std::vector<const char*> words(argv + 2, argv + argc);
    words.insert(words.begin(), argv[0]);
    words.push_back("--help");
    return ParseCommand(static_cast<int>(words.size()), words.data());
  }
  if (IsHelp(name) || name == "help") {
    return PrintAndExit{kHelp, 0};
  }
  if (name == "--version") {
    return PrintAndExit{absl::StrCat("waggle ", kVersion, "\n"), 0};
  }
  if (name == "replay") {
    return ParseReplay(argc, argv);
  }
  const std::vector<Verb> verbs = AllVerbs();
  if (const Verb* const verb = FindVerb(verbs, name)) {
    return ParseVerb(*verb, absl::StrCat("waggle ", name), argc, argv);
  }
  std::vector<std::string> names = NamesOf(verbs);
  names.emplace_back("replay");
  return NoSuchVerb("waggle", name, names);
}

}  // namespace waggle
