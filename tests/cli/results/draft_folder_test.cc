#include "cli/results/draft_folder.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/file_contents.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using ::waggle::testing::Contents;
using ::waggle::testing::TemporaryFolder;
using ::waggle::testing::ValueOf;

TEST_CASE("A draft takes its final place at once, in place of an older folder, and leaves nothing else", "[unit]") {
  const TemporaryFolder folder;
  for (const char* const text : {"first", "second"}) {
    const auto draft = ValueOf(DraftFolder::Create(folder.File("a/final")));
    std::ofstream(draft->File("file")) << text;
    CHECK(Contents(folder.File("a/final/file")) != text);
    REQUIRE_OK(draft->Finish());
    CHECK(Contents(folder.File("a/final/file")) == text);
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.File("a")), {}) == 1);
}

TEST_CASE("A draft that is given up is removed", "[unit]") {
  const TemporaryFolder folder;
  { std::ofstream(ValueOf(DraftFolder::Create(folder.File("a/final")))->File("file")) << "text"; }
  CHECK(std::filesystem::is_empty(folder.File("a")));
}

}  // namespace
}  // namespace waggle
