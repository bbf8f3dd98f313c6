#include "common/base/process/multicall.h"

#include <algorithm>
#include <iostream>

#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace waggle {
namespace {

constexpr int kUsageError = 2;

absl::string_view FileName(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0.
}

// The program of this name, or null.
const Program* Find(const std::vector<Program>& programs, absl::string_view name) {
  const auto found =
      std::find_if(programs.begin(), programs.end(), [name](const Program& program) { return program.name == name; });
  return found == programs.end() ? nullptr : &*found;
}

}  // namespace

int RunProgram(const std::vector<Program>& programs, int argc, char** argv) {
  if (argc > 1) {
    if (const Program* const program = Find(programs, argv[1]); program != nullptr) {
      return program->main(argc - 1, argv + 1);
    }
  }
  const absl::string_view called = argc > 0 ? FileName(argv[0]) : "";
  if (const Program* const program = Find(programs, called); program != nullptr) {
    return program->main(argc, argv);
  }
  const auto name = [](std::string* out, const Program& program) { out->append(program.name); };
  std::cerr << "the program's name: got \"" << called << "\"; wanted one of " << absl::StrJoin(programs, ", ", name)
            << ", as the name of the file or as the first argument" << std::endl;
  return kUsageError;
}

}  // namespace waggle
