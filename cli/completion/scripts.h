#pragma once

#include <string>
#include <vector>

#include "cli/completion/verb_facts.h"

namespace waggle {

std::string BashScript(const std::vector<VerbFacts>& verbs);
std::string ZshScript(const std::vector<VerbFacts>& verbs);
std::string FishScript(const std::vector<VerbFacts>& verbs);

// The kind of words that a flag or an argument takes.
enum class WordKind { kOther, kChoice, kFile, kFolder, kExperiment, kShipped };
WordKind KindOf(const std::string& verb, const FlagFacts& flag);

// The first words of the verbs, each once: "run", …, "replay". `description` of "replay" is that of all its verbs.
struct FirstWord {
  std::string word;
  std::string description;
};
std::vector<FirstWord> FirstWords(const std::vector<VerbFacts>& verbs);

// `text` in single quotes, for a shell.
std::string ShellQuoted(const std::string& text);

}  // namespace waggle
