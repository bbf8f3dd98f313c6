#include "replay_server/storage/commit_ring.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::TemporaryFolder;
using testing::ValueOf;

TEST_CASE("commits that a database lacks are counted, also by the next process", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("commits");
  {
    const auto ring = ValueOf(CommitRing::Open(path));
    CHECK(ring->After(0).commits == 0);
    ring->Note(10, 2);
    ring->Note(20, 3);
    ring->Note(30, 4);
  }
  const auto ring = ValueOf(CommitRing::Open(path));
  CHECK(ring->After(30).commits == 0);
  CHECK(ring->After(29).commits == 1);
  CHECK(ring->After(29).items == 4);
  CHECK(ring->After(9).items == 9);
  ring->Clear();
  CHECK(ring->After(0).commits == 0);
}

TEST_CASE("the last commits of very many are known", "[unit]") {
  const TemporaryFolder folder;
  const auto ring = ValueOf(CommitRing::Open(folder.File("commits")));
  for (uint64_t i = 1; i <= 3000; ++i) {
    ring->Note(i, 1);
  }
  CHECK(ring->After(2990).commits == 10);
  CHECK(ring->After(0).commits == CommitRing::kCommits);
}

TEST_CASE("an entry that was written in part, or by another program, does not count", "[unit]") {
  const TemporaryFolder folder;
  const std::string path = folder.File("commits");
  const auto ring = ValueOf(CommitRing::Open(path));
  ring->Note(10, 2);
  ring->Note(20, 3);
  std::filesystem::resize_file(path, 40);
  CHECK(ring->After(0).commits == 1);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(9);
  file.put('\x7f');  // Another number of items.
  const std::string foreign(24, '\xff');
  file.seekp(24);
  file.write(foreign.data(), 24);
  file.close();
  CHECK(ring->After(0).commits == 0);
}

}  // namespace
}  // namespace waggle
