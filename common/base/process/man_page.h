#pragma once

#include <string>
#include <vector>

#include "common/base/process/flag_facts.h"

namespace waggle {

// A manual page in the language man of roff. Build it from the top down.
class ManPage {
 public:
  // `program` and `summary`, one line, are what `apropos` shows.
  ManPage(const std::string& program, const std::string& summary);

  void Section(const std::string& title);     // "DESCRIPTION"
  void Subsection(const std::string& title);  // "waggle run FILE"
  void Paragraph(const std::string& text);
  // One line that says how to call it: `program`, its flags, and its arguments.
  void Usage(const std::string& program, const std::vector<FlagFacts>& flags);
  // A list of the flags and arguments, with their descriptions.
  void Flags(const std::vector<FlagFacts>& flags);
  void Item(const std::string& term, const std::string& text);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The whole page of a program without verbs.
std::string ProgramManPage(const std::string& program, const std::string& description,
                           const std::vector<FlagFacts>& flags);

}  // namespace waggle
