#include "common/base/process/find_program.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

// Replaces PATH while this lives.
class PathOf {
 public:
  explicit PathOf(const std::string& path) : before_(getenv("PATH")) { setenv("PATH", path.c_str(), 1); }
  ~PathOf() { setenv("PATH", before_.c_str(), 1); }

 private:
  const std::string before_;
};

TEST_CASE("A program is found in the first folder of PATH that has it and may run it", "[unit]") {
  const TemporaryFolder folder;
  for (const char* const name : {"a", "b", "c"}) {
    std::filesystem::create_directory(folder.File(name));
    if (name[0] != 'a') {
      std::ofstream(folder.File(std::string(name) + "/tool")) << "#!/bin/sh\n";
    }
  }
  std::filesystem::permissions(folder.File("c/tool"), std::filesystem::perms::owner_all);
  const PathOf path(folder.File("a") + "::" + folder.File("b") + ":" + folder.File("c"));
  CHECK(ValueOf(FindProgram("tool")) == folder.File("c/tool"));
  CHECK(ValueOf(FindProgram(folder.File("c/tool"))) == folder.File("c/tool"));
  REQUIRE_CODE(FindProgram("another"), absl::StatusCode::kNotFound);
  REQUIRE_CODE(FindProgram(folder.File("a/tool")), absl::StatusCode::kNotFound);
}

TEST_CASE("An executable's own folder is the one that contains it", "[unit]") {
  CHECK(absl::EndsWith(std::filesystem::read_symlink("/proc/self/exe").parent_path().string(), OwnFolder()));
  CHECK(std::filesystem::exists(OwnFolder() + "/process_test"));
}

}  // namespace
}  // namespace waggle
