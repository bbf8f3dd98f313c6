#include "common/base/machine_memory.h"

#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

TEST_CASE("The machine's memory is what its control group leaves of it", "[unit]") {
  const testing::TemporaryFolder folder;
  const int64_t all = MachineMemoryBytes(folder.path());
  CHECK(all > int64_t{1} << 26);
  CHECK(MachineMemoryBytes() <= all);
  const auto with = [&](const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder.path() + "/sys/fs/cgroup/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return MachineMemoryBytes(folder.path());
  };
  CHECK(with("memory.max", "max\n") == all);
  CHECK(with("memory.max", "1048576\n") == 1'048'576);
  CHECK(with("memory/memory.limit_in_bytes", "4096\n") == 4'096);
  CHECK(with("memory/memory.limit_in_bytes", "9223372036854771712\n") == 1'048'576);
  CHECK(with("memory.max", "0\n") == all);
}

}  // namespace
}  // namespace waggle
