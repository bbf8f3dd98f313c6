// Files that people and disks hand to Waggle: experiments in YAML, the manifests of checkpoints, and what a parameter
// server keeps; the last two also with checksums that are right.
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/checkpoint/manifest.h"
#include "common/experiment/experiment.h"
#include "common/rl/algorithms/builtin.h"
#include "common/tensor/checksum.h"
#include "param_server/workers/hub_state.h"

namespace waggle {
namespace {

std::string ChecksumOf(const std::string& text) {
  return absl::StrCat(absl::Hex(Checksum(text.data(), text.size()), absl::kZeroPad16));
}

void ReadManifest(const std::string& text) {
  const absl::StatusOr<Manifest> manifest = ParseManifest(text);
  WAGGLE_CHECK(!manifest.ok() || FormatManifest(*manifest) == text, "a manifest comes back");
}

void ReadHubRecord(const std::string& text) {
  const absl::StatusOr<HubRecord> record = DecodeHubRecord(text);
  if (record.ok()) {
    const absl::StatusOr<HubRecord> again = DecodeHubRecord(EncodeHubRecord(*record));
    WAGGLE_CHECK(again.ok() && EncodeHubRecord(*again) == EncodeHubRecord(*record), "a record comes back");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: {
      static const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
      ParseExperiment(text, "fuzz.yaml", {}, algorithms).status().IgnoreError();
      break;
    }
    case 1:
      ReadManifest(text);
      break;
    case 2:
      ReadManifest(absl::StrCat(text, "checksum ", ChecksumOf(text), "\n"));
      break;
    case 3:
      ReadHubRecord(text);
      break;
    default:
      ReadHubRecord(absl::StrCat("waggle hub 2 ", ChecksumOf(text), "\n", text));
  }
  return 0;
}

}  // namespace waggle
