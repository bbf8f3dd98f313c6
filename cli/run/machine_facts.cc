#include "cli/run/machine_facts.h"

#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "cli/human_text.h"
#include "common/base/file.h"
#include "common/base/machine_memory.h"

namespace waggle {
namespace {

constexpr char kGpus[] = "/proc/driver/nvidia/gpus";

// The value of the first line "KEY : VALUE" of a file; empty if there is none.
std::string ValueIn(const std::string& path, absl::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon != std::string::npos && absl::StripAsciiWhitespace(line.substr(0, colon)) == key) {
      return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    }
  }
  return "";
}

}  // namespace

std::string MachineFacts() {
  std::vector<std::string> facts;
  if (const std::string cpu = ValueIn("/proc/cpuinfo", "model name"); !cpu.empty()) {
    facts.push_back(cpu);
  }
  const unsigned cores = std::thread::hardware_concurrency();
  facts.push_back(absl::StrCat(cores, cores == 1 ? " core" : " cores"));
  facts.push_back(ShortBytes(static_cast<double>(MachineMemoryBytes())));
  std::vector<std::string> gpus = ListFolder(kGpus).value_or(std::vector<std::string>());
  std::sort(gpus.begin(), gpus.end());
  for (const std::string& gpu : gpus) {
    if (const std::string model = ValueIn(absl::StrCat(kGpus, "/", gpu, "/information"), "Model"); !model.empty()) {
      facts.push_back(model);
    }
  }
  return absl::StrJoin(facts, ", ");
}

}  // namespace waggle
