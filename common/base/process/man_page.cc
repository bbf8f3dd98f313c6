#include "common/base/process/man_page.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/build_info.h"

namespace waggle {
namespace {

// Text that roff takes as it is.
std::string Escaped(const std::string& text) {
  const std::string escaped = absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"\n", " "}});
  // A line that begins with one of these is a request.
  return absl::StartsWith(escaped, ".") || absl::StartsWith(escaped, "'") ? absl::StrCat("\\&", escaped) : escaped;
}

// A request's argument.
std::string Quoted(const std::string& text) {
  return absl::StrCat("\"", absl::StrReplaceAll(Escaped(text), {{"\"", "\\(dq"}}), "\"");
}

// "\fB\-\-seed\fR \fIN\fR"
std::string Term(const FlagFacts& flag) {
  const std::string type = flag.type.empty() ? "" : absl::StrCat("\\fI", Escaped(flag.type), "\\fR");
  if (flag.names.empty()) {
    return type;
  }
  std::vector<std::string> names;
  for (const std::string& name : flag.names) {
    names.push_back(absl::StrCat("\\fB", Escaped(name), "\\fR"));
  }
  return absl::StrCat(absl::StrJoin(names, ", "), type.empty() ? "" : " ", type);
}

}  // namespace

ManPage::ManPage(const std::string& program, const std::string& summary)
    : text_(absl::StrCat(".TH ", Quoted(absl::AsciiStrToUpper(program)), " 1 \"",
                         absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()), "\" \"Waggle ", kVersion,
                         "\" \"User Commands\"\n.SH NAME\n", Escaped(program), " \\- ", Escaped(summary), "\n")) {}

void ManPage::Section(const std::string& title) {
  absl::StrAppend(&text_, ".SH ", Quoted(title), "\n");
}

void ManPage::Subsection(const std::string& title) {
  absl::StrAppend(&text_, ".SS ", Quoted(title), "\n");
}

void ManPage::Paragraph(const std::string& text) {
  if (!absl::EndsWith(text_, "\"\n") && !absl::EndsWith(text_, ".PP\n")) {  // Not right behind a title.
    absl::StrAppend(&text_, ".PP\n");
  }
  absl::StrAppend(&text_, Escaped(text), "\n");
}

void ManPage::Usage(const std::string& program, const std::vector<FlagFacts>& flags) {
  absl::StrAppend(&text_, "\\fB", Escaped(program), "\\fR");
  for (const FlagFacts& flag : flags) {
    if (!flag.names.empty() && flag.required) {
      absl::StrAppend(&text_, " ", Term(flag));
    }
  }
  absl::StrAppend(&text_, " [\\fIflags\\fR]");
  for (const FlagFacts& flag : flags) {
    if (flag.names.empty()) {
      const std::string term = absl::StrCat(Term(flag), flag.repeats ? " ..." : "");
      absl::StrAppend(&text_, " ", flag.required ? term : absl::StrCat("[", term, "]"));
    }
  }
  absl::StrAppend(&text_, "\n");
}

void ManPage::Flags(const std::vector<FlagFacts>& flags) {
  for (const FlagFacts& flag : flags) {
    absl::StrAppend(&text_, ".TP\n", Term(flag), "\n", Escaped(flag.description), ".");
    if (!flag.default_value.empty()) {
      absl::StrAppend(&text_, " The default is ", Escaped(flag.default_value), ".");
    }
    if (!flag.variable.empty()) {
      absl::StrAppend(&text_, " The environment variable ", Escaped(flag.variable), " replaces it.");
    }
    absl::StrAppend(&text_, "\n");
  }
}

void ManPage::Item(const std::string& term, const std::string& text) {
  absl::StrAppend(&text_, ".TP\n\\fB", Escaped(term), "\\fR\n", Escaped(text), "\n");
}

std::string ProgramManPage(const std::string& program, const std::string& description,
                           const std::vector<FlagFacts>& flags) {
  ManPage page(program, FirstSentence(description));
  page.Section("SYNOPSIS");
  page.Usage(program, flags);
  page.Section("DESCRIPTION");
  page.Paragraph(description);
  page.Section("OPTIONS");
  page.Flags(flags);
  page.Section("SEE ALSO");
  page.Paragraph("waggle(1)");
  return page.text();
}

}  // namespace waggle
