// Files from users and disks: experiments in YAML, headers of safetensors files and checkpoints, and a parameter
// server's records; the last two also with correct checksums.
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/tensor/checksum.h"
#include "common/config/experiment/experiment.h"
#include "common/rl/algorithms/definitions.h"
#include "common/rl/checkpoint/checkpoint_file.h"
#include "common/rl/checkpoint/safetensors.h"
#include "param_server/run/hub_state.h"

namespace waggle {
namespace {

std::string ChecksumOf(const std::string& text) {
  return absl::StrCat(absl::Hex(Checksum(text.data(), text.size()), absl::kZeroPad16));
}

// The first four bytes are the number of bytes after the header.
void ReadTensors(const std::string& text) {
  uint32_t data_bytes = 0;
  if (text.size() < sizeof(data_bytes)) {
    return;
  }
  std::memcpy(&data_bytes, text.data(), sizeof(data_bytes));
  std::string json = text.substr(sizeof(data_bytes));
  ParseSafetensorsLength(json, static_cast<int64_t>(json.size())).status().IgnoreError();
  const absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(json, data_bytes);
  if (header.ok()) {
    WAGGLE_CHECK(DataBytes(header->tensors) == data_bytes, "tensors end where the file does");
    const absl::StatusOr<std::string> encoded = EncodeSafetensorsHeader(*header);
    WAGGLE_CHECK(encoded.ok(), "a header that was read can be written");
    const auto again = ParseSafetensorsHeader(encoded->substr(kSafetensorsLengthBytes), data_bytes);
    WAGGLE_CHECK(again.ok() && again->texts == header->texts && *EncodeSafetensorsHeader(*again) == *encoded,
                 "a header comes back");
  }
  if (SignCheckpointHeader(&json)) {
    ParseCheckpointHeader(json, data_bytes).status().IgnoreError();
  }
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
  switch (data[0] % 4) {
    case 0: {
      static const AlgorithmDefinitions algorithms = BuiltinAlgorithmDefinitions();
      ParseExperiment(text, "fuzz.yaml", {}, algorithms).status().IgnoreError();
      break;
    }
    case 1:
      ReadTensors(text);
      break;
    case 2:
      ReadHubRecord(text);
      break;
    default:
      ReadHubRecord(absl::StrCat("waggle hub 2 ", ChecksumOf(text), "\n", text));
  }
  return 0;
}

}  // namespace waggle
