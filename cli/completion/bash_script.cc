#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/completion/scripts.h"

namespace waggle {
namespace {

// _waggle_words fills COMPREPLY by `compgen`, a line a word. `verb` is the verb with its second word, if it has one.
constexpr char kScript[] = R"(# Completes the words of waggle in bash; `waggle completion bash` prints it.
_waggle_words() {
  mapfile -t COMPREPLY < <(compgen "$@" -- "$word")
}

_waggle() {
  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" verb="${COMP_WORDS[1]}"
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    _waggle_words -W '@VERBS@'
    return
  fi
  case "$verb" in
@SECOND_WORDS@  esac
  case "$verb $before" in
@VALUES@  esac
  if [[ "$word" == -* ]]; then
    case "$verb" in
@FLAGS@    esac
    return
  fi
  case "$verb" in
@ARGUMENTS@  esac
}
complete -F _waggle waggle
)";

// The statement that completes a word of this kind; empty if nothing can be offered.
std::string Statement(WordKind kind, const FlagFacts& flag) {
  switch (kind) {
    case WordKind::kChoice:
      return absl::StrCat("_waggle_words -W ", ShellQuoted(absl::StrJoin(flag.choices, " ")));
    case WordKind::kFile:
      return "compopt -o filenames 2>/dev/null; _waggle_words -f";
    case WordKind::kFolder:
      return "compopt -o filenames 2>/dev/null; _waggle_words -d";
    case WordKind::kExperiment:
      return "compopt -o filenames 2>/dev/null; _waggle_words -f -W \"$(waggle configs 2>/dev/null | cut -d' ' -f1)\"";
    case WordKind::kShipped:
      return "_waggle_words -W \"$(waggle configs 2>/dev/null | cut -d' ' -f1)\"";
    case WordKind::kOther:
      return "";
  }
  return "";
}

std::string Case(const std::string& pattern, const std::string& statement) {
  return absl::StrCat(pattern, ") ", statement, statement.empty() ? "" : " ", ";;\n");
}

}  // namespace

std::string BashScript(const std::vector<VerbFacts>& verbs) {
  std::vector<std::string> first_words;
  std::string seconds;
  std::string values;
  std::string flags;
  std::string arguments;
  for (const FirstWord& first : FirstWords(verbs)) {
    first_words.push_back(first.word);
    std::vector<std::string> second_words;
    for (const VerbFacts& verb : verbs) {
      if (verb.name.rfind(first.word + " ", 0) == 0) {
        second_words.push_back(verb.name.substr(first.word.size() + 1));
      }
    }
    if (!second_words.empty()) {
      absl::StrAppend(&seconds, "    ", first.word,
                      ")\n      if [ \"$COMP_CWORD\" = 2 ]; then\n        _waggle_words -W ",
                      ShellQuoted(absl::StrJoin(second_words, " ")),
                      "\n        return\n      fi\n      verb=\"$verb ${COMP_WORDS[2]}\"\n      ;;\n");
    }
  }
  for (const VerbFacts& verb : verbs) {
    std::vector<std::string> names;
    for (const FlagFacts& flag : verb.flags) {
      const std::string statement = Statement(KindOf(verb.name, flag), flag);
      if (flag.names.empty()) {
        if (!statement.empty()) {
          absl::StrAppend(&arguments, "    ", Case(ShellQuoted(verb.name), statement));
        }
        continue;
      }
      names.insert(names.end(), flag.names.begin(), flag.names.end());
      if (!flag.type.empty()) {
        std::vector<std::string> patterns;
        for (const std::string& name : flag.names) {
          patterns.push_back(ShellQuoted(absl::StrCat(verb.name, " ", name)));
        }
        absl::StrAppend(
            &values, "    ",
            Case(absl::StrJoin(patterns, "|"), absl::StrCat(statement, statement.empty() ? "" : "; ", "return")));
      }
    }
    absl::StrAppend(
        &flags, "      ",
        Case(ShellQuoted(verb.name), absl::StrCat("_waggle_words -W ", ShellQuoted(absl::StrJoin(names, " ")))));
  }
  return absl::StrReplaceAll(kScript, {{"@VERBS@", absl::StrJoin(first_words, " ")},
                                       {"@SECOND_WORDS@", seconds},
                                       {"@VALUES@", values},
                                       {"@FLAGS@", flags},
                                       {"@ARGUMENTS@", arguments}});
}

}  // namespace waggle
