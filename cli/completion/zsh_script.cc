#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/completion/scripts.h"

namespace waggle {
namespace {

// In the folder of functions, the file _waggle is the function; sourced, the last lines register it.
constexpr char kScript[] = R"zsh(#compdef waggle
# Completes the words of waggle in zsh; `waggle completion zsh` prints it.

_waggle_shipped() {
  local -a names
  names=(${(f)"$(waggle configs 2>/dev/null | cut -d' ' -f1)"})
  compadd -a names
}

_waggle_experiment() {
  _alternative 'shipped:experiment that ships:_waggle_shipped' 'files:file:_files'
}

_waggle_first_word() {
  local -a verbs
  verbs=(
@VERBS@  )
  _describe 'verb' verbs
}

_waggle() {
  local curcontext="$curcontext" state line
  typeset -A opt_args
  _arguments -C '1: :_waggle_first_word' '*:: :->words'
  [[ $state == words ]] || return
  local verb="$line[1]"
  case "$verb" in
@SECOND_WORDS@  esac
  case "$verb" in
@WORDS@  esac
}

if [ "${funcstack[1]-}" = _waggle ]; then
  _waggle "$@"
else
  compdef _waggle waggle
fi
)zsh";

std::string Action(WordKind kind, const FlagFacts& flag) {
  switch (kind) {
    case WordKind::kChoice:
      return absl::StrCat("(", absl::StrJoin(flag.choices, " "), ")");
    case WordKind::kFile:
      return "_files";
    case WordKind::kFolder:
      return "_files -/";
    case WordKind::kExperiment:
      return "_waggle_experiment";
    case WordKind::kShipped:
      return "_waggle_shipped";
    case WordKind::kOther:
      return " ";
  }
  return " ";
}

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"\\", "\\\\"}, {":", "\\:"}, {"[", "\\["}, {"]", "\\]"}});
}

// One word of `_arguments`.
std::string Specification(const std::string& verb, const FlagFacts& flag, const std::string& name) {
  const std::string value =
      flag.type.empty() ? "" : absl::StrCat(":", Escaped(flag.type), ":", Action(KindOf(verb, flag), flag));
  if (name.empty()) {
    return ShellQuoted(absl::StrCat(flag.repeats ? "*" : "", value));
  }
  return ShellQuoted(
      absl::StrCat(flag.repeats ? "*" : "", name, "[", Escaped(FirstSentence(flag.description)), "]", value));
}

}  // namespace

std::string ZshScript(const std::vector<VerbFacts>& verbs) {
  std::string first_words;
  std::string seconds;
  for (const FirstWord& first : FirstWords(verbs)) {
    absl::StrAppend(&first_words, "    ", ShellQuoted(absl::StrCat(first.word, ":", Escaped(first.description))), "\n");
    std::vector<std::string> second_words;
    for (const VerbFacts& verb : verbs) {
      if (verb.name.rfind(first.word + " ", 0) == 0) {
        second_words.push_back(verb.name.substr(first.word.size() + 1));
      }
    }
    if (!second_words.empty()) {
      absl::StrAppend(
          &seconds, "    ", first.word, ")\n      _arguments -C ",
          ShellQuoted(absl::StrCat("1:verb:(", absl::StrJoin(second_words, " "), ")")),
          " '*:: :->words'\n      [[ $state == words ]] || return\n      verb=\"$verb $line[1]\"\n      ;;\n");
    }
  }
  std::string words;
  for (const VerbFacts& verb : verbs) {
    absl::StrAppend(&words, "    ", ShellQuoted(verb.name), ")\n      _arguments");
    for (const FlagFacts& flag : verb.flags) {
      if (flag.names.empty()) {
        absl::StrAppend(&words, " \\\n        ", Specification(verb.name, flag, ""));
      }
      for (const std::string& name : flag.names) {
        absl::StrAppend(&words, " \\\n        ", Specification(verb.name, flag, name));
      }
    }
    absl::StrAppend(&words, "\n      ;;\n");
  }
  return absl::StrReplaceAll(kScript, {{"@VERBS@", first_words}, {"@SECOND_WORDS@", seconds}, {"@WORDS@", words}});
}

}  // namespace waggle
