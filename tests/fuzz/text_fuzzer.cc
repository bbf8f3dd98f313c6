// Files that people and disks hand to Waggle: experiments in YAML, and the manifests of checkpoints.
#include <string>

#include "common/checkpoint/manifest.h"
#include "common/experiment/experiment.h"
#include "common/rl/algorithms/builtin.h"

namespace waggle {

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    static const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
    ParseExperiment(text, "fuzz.yaml", {}, algorithms).status().IgnoreError();
  } else {
    ParseManifest(text).status().IgnoreError();
  }
  return 0;
}

}  // namespace waggle
