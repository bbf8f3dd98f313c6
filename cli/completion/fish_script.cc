#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/completion/scripts.h"

namespace waggle {
namespace {

constexpr char kHead[] = R"(# Completes the words of waggle in fish; `waggle completion fish` prints it.
function __waggle_shipped
    waggle configs 2>/dev/null | cut -d' ' -f1
end

# True if the words behind `waggle` begin with these.
function __waggle_verb_is
    set -l words (commandline -opc)
    set -l last (math 1 + (count $argv))
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end

# True if there are so many words before the one at the cursor.
function __waggle_words_are
    test (count (commandline -opc)) = $argv[1]
end

complete -c waggle -f
)";

// In single quotes of fish, which differ from those of other shells.
std::string Quoted(const std::string& text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// The flags of `complete` that offer the words of this kind.
std::string Words(WordKind kind, const FlagFacts& flag) {
  switch (kind) {
    case WordKind::kChoice:
      return absl::StrCat(" -a ", Quoted(absl::StrJoin(flag.choices, " ")));
    case WordKind::kFile:
      return " -F";
    case WordKind::kFolder:
      return " -a '(__fish_complete_directories)'";
    case WordKind::kExperiment:
      return " -F -a '(__waggle_shipped)'";
    case WordKind::kShipped:
      return " -a '(__waggle_shipped)'";
    case WordKind::kOther:
      return "";
  }
  return "";
}

// True once the line has this verb.
std::string Condition(const std::string& verb) {
  return absl::StrCat("__waggle_verb_is ", verb);
}

}  // namespace

std::string FishScript(const std::vector<VerbFacts>& verbs) {
  std::string script = kHead;
  for (const FirstWord& first : FirstWords(verbs)) {
    absl::StrAppend(&script, "complete -c waggle -n '__waggle_words_are 1' -a ", first.word, " -d ",
                    Quoted(first.description), "\n");
  }
  for (const VerbFacts& verb : verbs) {
    const size_t space = verb.name.find(' ');
    if (space != std::string::npos) {
      const std::string second = verb.name.substr(space + 1);
      absl::StrAppend(&script, "complete -c waggle -n ",
                      Quoted(absl::StrCat(Condition(verb.name.substr(0, space)), "; and __waggle_words_are 2")), " -a ",
                      second, " -d ", Quoted(FirstSentence(verb.description)), "\n");
    }
    for (const FlagFacts& flag : verb.flags) {
      const std::string words = Words(KindOf(verb.name, flag), flag);
      std::string names;
      for (const std::string& name : flag.names) {
        absl::StrAppend(&names, name.rfind("--", 0) == 0 ? " -l " : " -s ", name.substr(name.find_first_not_of('-')));
      }
      if (names.empty() && words.empty()) {
        continue;
      }
      const bool takes_value = !flag.names.empty() && !flag.type.empty();
      absl::StrAppend(&script, "complete -c waggle -n ", Quoted(Condition(verb.name)), names, takes_value ? " -r" : "",
                      words, names.empty() ? "" : absl::StrCat(" -d ", Quoted(FirstSentence(flag.description))), "\n");
    }
  }
  return script;
}

}  // namespace waggle
