#include "cli/command_line.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command_line_parts.h"
#include "cli/completion/completion.h"
#include "common/base/build_info.h"
#include "common/base/nearest_name.h"

namespace waggle {
namespace {

constexpr char kHelp[] =
    R"(waggle: distributed actor-learner training of deep reinforcement learning

usage: waggle VERB ...

experiments on this machine:
  configs [NAME]
                list the experiments that ship, whose names serve in place of FILE; or print one
  run FILE      train an experiment with its own processes until it ends
  check FILE    check an experiment's file, print all its values, and estimate the memory it needs
  evaluate PATH run greedy episodes with trained weights, and report their returns
  play ENVIRONMENT
                step an environment by hand, or at random
  record PATH --output FILE
                run episodes and write their rows to a replay file, as a data set
  export PATH [FILE]
                write a trained policy as an ONNX file
  import SOURCE ... --output FILE
                convert data sets of Minari or D4RL to such a file, or join such files
  plot RUN ...  draw the curves of runs, as a PNG
  compare RUN ...
                compare settings by the results of their runs, with confidence intervals
  card RUN      make a folder with a model card and the best weights
  serve-environment NAME
                serve a built-in environment to other programs, by dm_env_rpc
  token NAME --role ROLE
                make a token for a person or a program, and the line by which servers know it

experiments of a parameter server and its pool of processes:
  submit FILE   queue an experiment, or a group of them; each runs once the pool has room for it
  list          list the experiments and groups
  status [ID]   show each process and each table of an experiment; without ID: the processes of the pool and the
                experiments; with --replay-server: replay servers that serve alone
  top           show the experiments and workers with their rates and waits, again and again
  watch ID      show an experiment's progress until it ends
  stop ID ...   end experiments, or all of a group
  resume ID ... continue experiments that were stopped or have failed, or that have ended, with a later limit
  checkpoint ID ...
                make a cut of running experiments, to which they can go back
  delete ID ... delete experiments that have ended, with all their saved data
  priority ID ... --to N
                change the priority of experiments that have not ended
  set ID KEY=VALUE ...
                set numbers of a running experiment, such as algorithm.optimizer.learning_rate
  logs ID       print the events of an experiment
  fetch ID [DIR]
                copy the files of an experiment, with its best weights, to a folder
  health HOST:PORT
                ask a server of any kind whether it serves; the exit status is the answer

replay tables:
  why [TABLE]   show which processes wait at the tables of a running experiment, why, and which changes would free them
  inspect TABLE show the items of a table: their keys, ages, priorities and writers, or all columns of one item;
                with --cuts, the cuts of the experiment
  reconfigure TABLE KEY=VALUE ...
                change the limits of a table while it is in use
  replay export TABLE FILE
                write a table's items to a file
  replay import FILE
                insert a file's items into a table

  help VERB     print the flags of a verb; the same as waggle VERB --help
  help --man    print the manual page, for man
  completion SHELL
                print the script by which bash, zsh or fish completes these words
  --version     print the version
)";

std::vector<Verb> AllVerbs() {
  std::vector<Verb> verbs;
  for (const auto& group : {LocalVerbs(), ExperimentVerbs(), ResultVerbs(), ReplayVerbs()}) {
    verbs.insert(verbs.end(), group.begin(), group.end());
  }
  return verbs;
}

// Says that `got` is not one of the verbs of `program`.
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
Command ParseReplay(int argc, const char* const* argv, SecurityOptions* security) {
  const std::string name = argc > 2 ? argv[2] : "";
  if (IsHelp(name)) {
    return PrintAndExit{kHelp, 0};
  }
  const std::vector<Verb> verbs = ReplayFileVerbs();
  const Verb* const verb = FindVerb(verbs, name);
  return verb != nullptr ? ParseVerb(*verb, absl::StrCat("waggle replay ", name), argc - 1, argv + 1, security)
                         : NoSuchVerb("waggle replay", name, NamesOf(verbs));
}

}  // namespace

std::vector<VerbFacts> AllVerbFacts() {
  std::vector<VerbFacts> facts;
  for (const Verb& verb : AllVerbs()) {
    facts.push_back(FactsOf(verb, verb.name));
  }
  for (const Verb& verb : ReplayFileVerbs()) {
    facts.push_back(FactsOf(verb, absl::StrCat("replay ", verb.name)));
  }
  return facts;
}

Command ParseCommand(int argc, const char* const* argv, SecurityOptions* security) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "help" && argc == 3 && std::string(argv[2]) == "--man") {
    return PrintAndExit{CommandManPage(AllVerbFacts()), 0};
  }
  if (name == "help" && argc > 2) {
    std::vector<const char*> words(argv + 2, argv + argc);
    words.insert(words.begin(), argv[0]);
    words.push_back("--help");
    return ParseCommand(static_cast<int>(words.size()), words.data(), security);
  }
  if (IsHelp(name) || name == "help") {
    return PrintAndExit{kHelp, 0};
  }
  if (name == "--version") {
    return PrintAndExit{absl::StrCat("waggle ", kVersion, "\n"), 0};
  }
  if (name == "replay") {
    return ParseReplay(argc, argv, security);
  }
  const std::vector<Verb> verbs = AllVerbs();
  if (const Verb* const verb = FindVerb(verbs, name)) {
    return ParseVerb(*verb, absl::StrCat("waggle ", name), argc, argv, security);
  }
  std::vector<std::string> names = NamesOf(verbs);
  names.emplace_back("replay");
  return NoSuchVerb("waggle", name, names);
}

}  // namespace waggle
