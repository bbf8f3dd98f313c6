#include "common/base/machine_memory.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

// A folder that stands for the system's root.
struct Machine {
  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = folder.path() + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  int64_t With(const std::string& file, const std::string& text) const {
    Write("/sys/fs/cgroup/" + file, text);
    return Bytes();
  }
  int64_t Bytes() const { return MachineMemoryBytes(folder.path()); }

  const testing::TemporaryFolder folder;
};

TEST_CASE("A process's memory grows with what it touches, and is no more than the machine's", "[unit]") {
  const int64_t before = ResidentBytes();
  CHECK(before > 0);
  const std::string touched(size_t{64} << 20, 'x');
  CHECK(ResidentBytes() > before + (int64_t{32} << 20));
  CHECK(ResidentBytes() < MachineMemoryBytes());
  CHECK(touched.back() == 'x');
}

TEST_CASE("The machine's memory is limited by the control group", "[unit]") {
  const Machine machine;
  const int64_t all = machine.Bytes();
  CHECK(all > int64_t{1} << 26);
  CHECK(MachineMemoryBytes() <= all);
  CHECK(machine.With("memory.max", "max\n") == all);
  CHECK(machine.With("memory.max", "1048576\n") == 1'048'576);
  CHECK(machine.With("memory/memory.limit_in_bytes", "4096\n") == 4'096);
  CHECK(machine.With("memory/memory.limit_in_bytes", "9223372036854771712\n") == 1'048'576);
  CHECK(machine.With("memory.max", "0\n") == all);
}

TEST_CASE("The least limit of a control group and its ancestors counts", "[unit]") {
  const Machine machine;
  const int64_t all = machine.Bytes();
  SECTION("version 2") {
    machine.Write("/proc/self/cgroup", "0::/jobs.slice/job-7.scope\n");
    CHECK(machine.With("jobs.slice/job-7.scope/memory.max", "5000000\n") == 5'000'000);
    CHECK(machine.With("jobs.slice/memory.max", "4000000\n") == 4'000'000);
    CHECK(machine.With("memory.max", "3000000\n") == 3'000'000);
    CHECK(machine.With("jobs.slice/job-7.scope/memory.max", "2000000\n") == 2'000'000);
    CHECK(machine.With("other.slice/memory.max", "1000000\n") == 2'000'000);
  }
  SECTION("version 1, beside other controllers and version 2") {
    machine.Write("/proc/self/cgroup", "7:cpu,cpuacct:/fast\n5:hugetlb,memory:/docker/a:b\n0::/system.slice\n");
    CHECK(machine.With("memory/docker/a:b/memory.limit_in_bytes", "5000000\n") == 5'000'000);
    CHECK(machine.With("memory/docker/memory.limit_in_bytes", "4000000\n") == 4'000'000);
    CHECK(machine.With("memory/fast/memory.limit_in_bytes", "1000000\n") == 4'000'000);
    CHECK(machine.With("unified/system.slice/memory.max", "3000000\n") == 3'000'000);
  }
  SECTION("in a container, whose path is the machine's and whose files are its own") {
    machine.Write("/proc/self/cgroup", "5:memory:/docker/abc\n");
    CHECK(machine.With("memory/memory.limit_in_bytes", "5000000\n") == 5'000'000);
  }
  SECTION("a group outside the visible tree") {
    machine.Write("/proc/self/cgroup", "0::/../../other/mine\n");
    CHECK(machine.With("memory.max", "5000000\n") == 5'000'000);
    CHECK(machine.With("other/mine/memory.max", "4000000\n") == 4'000'000);
  }
  SECTION("malformed lines") {
    machine.Write("/proc/self/cgroup", "\n:\n::\n0::\nmemory\n1:memory:\n");
    CHECK(machine.Bytes() == all);
    CHECK(machine.With("memory.max", "5000000\n") == 5'000'000);
  }
}

}  // namespace
}  // namespace waggle
