#include "common/base/process/flag_facts.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace waggle {

std::vector<FlagFacts> FlagsOf(const CLI::App& app) {
  std::vector<FlagFacts> flags;
  for (const CLI::Option* const option : app.get_options()) {
    FlagFacts flag;
    for (const std::string& name : option->get_snames()) {
      flag.names.push_back(absl::StrCat("-", name));
    }
    for (const std::string& name : option->get_lnames()) {
      flag.names.push_back(absl::StrCat("--", name));
    }
    if (flag.names.empty()) {
      flag.type = option->get_name(/*positional=*/true);
    } else if (option->get_items_expected_max() > 0) {
      flag.type = option->get_type_name();
    }
    if (flag.type.find('|') != std::string::npos) {
      flag.choices = absl::StrSplit(flag.type, '|');
    }
    flag.description = option->get_description();
    flag.default_value = option->get_default_str();
    flag.variable = option->get_envname();
    flag.required = option->get_required();
    flag.repeats =
        option->get_items_expected_max() > 1 || option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::string FirstSentence(const std::string& description) {
  const std::string first = description.substr(0, description.find(". "));
  return std::string(absl::StripSuffix(first, "."));
}

}  // namespace waggle
