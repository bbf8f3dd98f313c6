#include "common/rl/checkpoint/checkpoint_file.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/checksum.h"

namespace waggle {
namespace {

constexpr absl::string_view kHeaderChecksum = "waggle:header_xxh3";
constexpr absl::string_view kFormat = "waggle:format";
constexpr absl::string_view kDataChecksum = "waggle:data_xxh3";
constexpr absl::string_view kStep = "waggle:step";

// Start of the header in all versions, so that the checksum and version of a newer one can be found.
constexpr absl::string_view kBeforeChecksum = "{\"__metadata__\":{\"waggle:header_xxh3\":\"";
constexpr absl::string_view kBeforeFormat = "\",\"waggle:format\":\"";
// Replaces the checksum while it is computed.
constexpr absl::string_view kNoChecksum = "0000000000000000";

std::string Hex(uint64_t number) {
  return absl::StrCat(absl::Hex(number, absl::kZeroPad16));
}

// XXH3-64 of the header with zeros for this checksum. `json` must reach beyond the checksum.
uint64_t HeaderChecksum(absl::string_view json) {
  Checksummer checksummer;
  checksummer.Update(kBeforeChecksum.data(), kBeforeChecksum.size());
  checksummer.Update(kNoChecksum.data(), kNoChecksum.size());
  const absl::string_view rest = json.substr(kBeforeChecksum.size() + kNoChecksum.size());
  checksummer.Update(rest.data(), rest.size());
  return checksummer.Digest();
}

bool BeginsAsCheckpoint(absl::string_view json) {
  return absl::ConsumePrefix(&json, kBeforeChecksum) && json.size() > kNoChecksum.size();
}

absl::Status CheckChecksumAndVersion(absl::string_view json) {
  if (!BeginsAsCheckpoint(json)) {
    return absl::DataLossError("the header does not begin as a checkpoint's does: it is damaged, or another program's");
  }
  if (json.substr(kBeforeChecksum.size(), kNoChecksum.size()) != Hex(HeaderChecksum(json))) {
    return absl::DataLossError("the header is damaged: its checksum does not match");
  }
  absl::string_view rest = json.substr(kBeforeChecksum.size() + kNoChecksum.size());
  int64_t version = 0;
  if (!absl::ConsumePrefix(&rest, kBeforeFormat) || !absl::SimpleAtoi(rest.substr(0, rest.find('"')), &version) ||
      version < kCheckpointFormatVersion) {
    return absl::DataLossError("the header has no format version");
  }
  if (version > kCheckpointFormatVersion) {
    return absl::FailedPreconditionError(absl::StrCat("it has format version ", version,
                                                      ", and this program reads versions up to ",
                                                      kCheckpointFormatVersion, ": a newer Waggle wrote it"));
  }
  return absl::OkStatus();
}

// Reads the header and leaves the file at its first array.
absl::StatusOr<CheckpointHeader> ReadHeader(File* file) {
  WAGGLE_ASSIGN_OR_RETURN(const int64_t size, file->Size());
  char first[kSafetensorsLengthBytes];
  WAGGLE_RETURN_IF_ERROR(file->Read(first, sizeof(first)));
  WAGGLE_ASSIGN_OR_RETURN(const int64_t length, ParseSafetensorsLength(absl::string_view(first, sizeof(first)), size));
  std::string json(static_cast<size_t>(length), '\0');
  WAGGLE_RETURN_IF_ERROR(file->Read(json.data(), length));
  return ParseCheckpointHeader(json, size - kSafetensorsLengthBytes - length);
}

}  // namespace

absl::StatusOr<CheckpointHeader> ParseCheckpointHeader(absl::string_view json, int64_t data_bytes) {
  WAGGLE_RETURN_IF_ERROR(CheckChecksumAndVersion(json));
  WAGGLE_ASSIGN_OR_RETURN(SafetensorsHeader parsed, ParseSafetensorsHeader(json, data_bytes));
  CheckpointHeader header;
  header.tensors = std::move(parsed.tensors);
  for (auto& [name, text] : parsed.texts) {
    header.texts.emplace(std::move(name), std::move(text));
  }
  // Only the checkpoint's own texts remain.
  header.texts.erase(std::string(kHeaderChecksum));
  header.texts.erase(std::string(kFormat));
  const auto step = header.texts.extract(std::string(kStep));
  if (step.empty() || !absl::SimpleAtoi(step.mapped(), &header.step) || header.step < 0) {
    return absl::DataLossError("the header has no step");
  }
  const auto checksum = header.texts.extract(std::string(kDataChecksum));
  if (checksum.empty() || checksum.mapped().size() != kNoChecksum.size() ||
      !absl::SimpleHexAtoi(checksum.mapped(), &header.data_checksum)) {
    return absl::DataLossError("the header has no checksum of the data");
  }
  for (const auto& [name, text] : header.texts) {
    if (const absl::Status status = ValidateName(name); !status.ok()) {
      return absl::DataLossError(absl::StrCat("the header has a bad text: ", status.message()));
    }
  }
  return header;
}

bool SignCheckpointHeader(std::string* json) {
  if (!BeginsAsCheckpoint(*json)) {
    return false;
  }
  json->replace(kBeforeChecksum.size(), kNoChecksum.size(), Hex(HeaderChecksum(*json)));
  return true;
}

absl::Status WriteCheckpointFile(const CheckpointContents& contents, const std::string& path) {
  WAGGLE_RETURN_IF_ERROR(contents.Validate());
  std::vector<ArraySpec> specs;
  for (const CheckpointArray& array : contents.arrays) {
    specs.push_back(array.spec);
  }
  SafetensorsHeader header;
  header.tensors = LayOutTensors(specs);
  const std::vector<size_t> order = OrderInFile(header.tensors);
  Checksummer checksummer;
  for (const size_t index : order) {
    for (const ByteSlice& slice : contents.arrays[index].data.slices()) {
      checksummer.Update(slice.data, slice.size);
    }
  }
  header.texts = {{std::string(kHeaderChecksum), std::string(kNoChecksum)},
                  {std::string(kFormat), absl::StrCat(kCheckpointFormatVersion)},
                  {std::string(kDataChecksum), Hex(checksummer.Digest())},
                  {std::string(kStep), absl::StrCat(contents.step)}};
  header.texts.insert(header.texts.end(), contents.texts.begin(), contents.texts.end());
  WAGGLE_ASSIGN_OR_RETURN(const std::string encoded, EncodeSafetensorsHeader(header));
  std::string json = encoded.substr(kSafetensorsLengthBytes);
  SignCheckpointHeader(&json);

  WAGGLE_ASSIGN_OR_RETURN(File file, File::Create(path));
  WAGGLE_RETURN_IF_ERROR(file.Append(absl::string_view(encoded).substr(0, kSafetensorsLengthBytes)));
  WAGGLE_RETURN_IF_ERROR(file.Append(json));
  for (const size_t index : order) {
    for (const ByteSlice& slice : contents.arrays[index].data.slices()) {
      WAGGLE_RETURN_IF_ERROR(file.Append(absl::string_view(slice.data, slice.size)));
    }
  }
  return file.Sync();
}

absl::StatusOr<CheckpointHeader> ReadCheckpointHeader(const std::string& path) {
  WAGGLE_ASSIGN_OR_RETURN(File file, File::OpenToRead(path));
  return ReadHeader(&file);
}

absl::StatusOr<CheckpointContents> ReadCheckpointFile(const std::string& path) {
  WAGGLE_ASSIGN_OR_RETURN(File file, File::OpenToRead(path));
  WAGGLE_ASSIGN_OR_RETURN(CheckpointHeader header, ReadHeader(&file));
  CheckpointContents contents;
  contents.step = header.step;
  contents.texts = std::move(header.texts);
  contents.arrays.resize(header.tensors.size());
  Checksummer checksummer;
  for (const size_t index : OrderInFile(header.tensors)) {
    ArraySpec& spec = header.tensors[index].spec;
    const auto size = static_cast<size_t>(spec.NumBytes());
    std::shared_ptr<char> bytes = AllocateBytes(size);
    WAGGLE_RETURN_IF_ERROR(file.Read(bytes.get(), static_cast<int64_t>(size)));
    checksummer.Update(bytes.get(), size);
    const char* const address = bytes.get();
    contents.arrays[index].data = ByteSlices(ByteSlice{address, size, std::move(bytes)});
  }
  for (size_t i = 0; i < header.tensors.size(); ++i) {
    contents.arrays[i].spec = std::move(header.tensors[i].spec);
  }
  if (checksummer.Digest() != header.data_checksum) {
    return absl::DataLossError("the arrays are damaged: their checksum does not match");
  }
  return contents;
}

}  // namespace waggle
