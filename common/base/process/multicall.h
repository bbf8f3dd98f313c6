#pragma once

#include <string>
#include <vector>

namespace waggle {

// A program that shares its executable with others.
struct Program {
  std::string name;
  int (*main)(int argc, char** argv);
};

// Runs the program that the first argument names, with the arguments behind it, or else the program by whose name this
// process was called. Returns its exit status; 2, after a line on the standard error stream, if both name none.
int RunProgram(const std::vector<Program>& programs, int argc, char** argv);

}  // namespace waggle
