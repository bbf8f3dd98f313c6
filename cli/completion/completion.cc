#include "cli/completion/completion.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/completion/scripts.h"
#include "common/base/process/man_page.h"

namespace waggle {

std::vector<std::string> CompletionShells() {
  return {"bash", "zsh", "fish"};
}

absl::StatusOr<std::string> CompletionScript(const std::string& shell, const std::vector<VerbFacts>& verbs) {
  if (shell == "bash") {
    return BashScript(verbs);
  }
  if (shell == "zsh") {
    return ZshScript(verbs);
  }
  if (shell == "fish") {
    return FishScript(verbs);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("SHELL: got \"", shell, "\"; wanted one of ", absl::StrJoin(CompletionShells(), ", ")));
}

std::string CommandManPage(const std::vector<VerbFacts>& verbs) {
  ManPage page("waggle", "distributed actor-learner training of deep reinforcement learning");
  page.Section("SYNOPSIS");
  page.Usage("waggle VERB", {});
  page.Section("DESCRIPTION");
  page.Paragraph(
      "Trains experiments on this machine, submits them to a parameter server with its pool of processes, and shows "
      "what runs and what replay tables hold.");
  page.Section("VERBS");
  for (const VerbFacts& verb : verbs) {
    const std::string name = absl::StrCat("waggle ", verb.name);
    page.Subsection(name);
    page.Usage(name, verb.flags);
    page.Paragraph(verb.description);
    page.Flags(verb.flags);
  }
  page.Section("ENVIRONMENT");
  page.Item("WAGGLE_PARAM_SERVER", "The HOST:PORT of the parameter server, in place of the flag --param-server.");
  page.Section("SEE ALSO");
  page.Paragraph("waggle-param-server(1), waggle-replay-server(1), waggle-learner(1), waggle-actor(1)");
  return page.text();
}

WordKind KindOf(const std::string& verb, const FlagFacts& flag) {
  if (!flag.choices.empty()) {
    return WordKind::kChoice;
  }
  const bool is_argument = flag.names.empty();
  if (is_argument && verb == "configs") {
    return WordKind::kShipped;
  }
  if (flag.type == "FILE") {
    return is_argument && (verb == "run" || verb == "check" || verb == "submit") ? WordKind::kExperiment
                                                                                 : WordKind::kFile;
  }
  if (flag.type == "PATH" || flag.type == "SOURCE") {
    return WordKind::kFile;
  }
  return flag.type == "DIR" || flag.type == "RUN" ? WordKind::kFolder : WordKind::kOther;
}

std::vector<FirstWord> FirstWords(const std::vector<VerbFacts>& verbs) {
  std::vector<FirstWord> words;
  for (const VerbFacts& verb : verbs) {
    const std::string word = verb.name.substr(0, verb.name.find(' '));
    if (word == verb.name) {
      words.push_back({word, FirstSentence(verb.description)});
    } else if (words.empty() || words.back().word != word) {
      words.push_back({word, "Replay tables and files"});
    }
  }
  return words;
}

std::string ShellQuoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

}  // namespace waggle
