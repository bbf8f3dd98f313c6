#include "common/checkpoint/manifest.h"

#include <xxhash.h>

#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr int64_t kAlignment = 64;
constexpr absl::string_view kMagic = "waggle-checkpoint ";
constexpr absl::string_view kChecksum = "checksum ";

std::string Hex(uint64_t number) {
  return absl::StrCat(absl::Hex(number, absl::kZeroPad16));
}

absl::Status Malformed(absl::string_view what, absl::string_view line) {
  // A line may be as long as the file.
  return absl::DataLossError(
      absl::StrCat("the manifest's ", what, " is malformed: \"", absl::CHexEscape(line.substr(0, 200)), "\""));
}

// The manifest without its last line, whose checksum it has.
absl::StatusOr<absl::string_view> VerifiedBody(absl::string_view bytes) {
  constexpr size_t kLastLineSize = 26;  // "checksum ", 16 digits, "\n".
  if (bytes.size() < kLastLineSize) {
    return absl::DataLossError(absl::StrCat("the manifest is truncated: it has ", bytes.size(), " bytes"));
  }
  const absl::string_view body = bytes.substr(0, bytes.size() - kLastLineSize);
  const std::string wanted = absl::StrCat(kChecksum, Hex(XXH3_64bits(body.data(), body.size())), "\n");
  if (bytes.substr(body.size()) != wanted) {
    return absl::DataLossError("the manifest is damaged: its checksum does not match");
  }
  return body;
}

absl::Status ParseVersion(absl::string_view line) {
  int64_t version = 0;
  if (!absl::ConsumePrefix(&line, kMagic) || !absl::SimpleAtoi(line, &version) || version < 1) {
    return Malformed("first line", line);
  }
  if (version > kCheckpointFormatVersion) {
    return absl::FailedPreconditionError(absl::StrCat("it has format version ", version,
                                                      ", and this program reads versions up to ",
                                                      kCheckpointFormatVersion, ": a newer Waggle wrote it"));
  }
  return absl::OkStatus();
}

// "policy/weight float32 [64,4] 0 9f86d081884c7d65", after "array ".
absl::StatusOr<ManifestEntry> ParseArray(absl::string_view line) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
  ManifestEntry entry;
  if (fields.size() != 5 || !absl::SimpleAtoi(fields[3], &entry.offset) ||
      !absl::SimpleHexAtoi(fields[4], &entry.checksum)) {
    return Malformed("array", line);
  }
  entry.spec.name = std::string(fields[0]);
  absl::StatusOr<DType> dtype = ParseDType(fields[1]);
  absl::string_view shape = fields[2];
  if (!dtype.ok() || !absl::ConsumePrefix(&shape, "[") || !absl::ConsumeSuffix(&shape, "]")) {
    return Malformed("array", line);
  }
  entry.spec.dtype = *dtype;
  // "[]" is a scalar, and StrSplit of nothing is one empty piece.
  for (const absl::string_view piece : absl::StrSplit(shape, ',', absl::SkipEmpty())) {
    int64_t dimension = 0;
    if (!absl::SimpleAtoi(piece, &dimension) || entry.spec.shape.size() >= kMaxRank) {
      return Malformed("array", line);
    }
    entry.spec.shape.push_back(dimension);
  }
  if (const absl::Status status = entry.spec.Validate(); !status.ok()) {
    return absl::DataLossError(absl::StrCat("the manifest has a bad array: ", status.message()));
  }
  return entry;
}

// "generator \"…\"", after "text ".
absl::StatusOr<std::pair<std::string, std::string>> ParseText(absl::string_view line) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
  std::pair<std::string, std::string> text(parts.first, "");
  absl::string_view quoted = parts.second;
  if (!ValidateName(text.first).ok() || !absl::ConsumePrefix(&quoted, "\"") || !absl::ConsumeSuffix(&quoted, "\"") ||
      !absl::CUnescape(quoted, &text.second)) {
    return Malformed("text", line);
  }
  return text;
}

// Arrays follow one another, each at the next aligned place, and end where the file does. A sum of sizes does not
// overflow: a manifest has room for 2^22 arrays of at most 2^40 bytes.
absl::Status CheckLayout(const Manifest& manifest) {
  std::set<absl::string_view> names;
  int64_t end = 0;
  for (const ManifestEntry& entry : manifest.entries) {
    if (!names.insert(entry.spec.name).second) {
      return absl::DataLossError(absl::StrCat("the manifest names the array ", entry.spec.name, " twice"));
    }
    if (entry.offset != AlignedOffset(end)) {
      return absl::DataLossError(absl::StrCat("the manifest puts ", entry.spec.DebugString(), " at byte ", entry.offset,
                                              " where byte ", AlignedOffset(end), " is next"));
    }
    end = entry.offset + entry.spec.NumBytes();
  }
  if (end != manifest.data_bytes) {
    return absl::DataLossError(
        absl::StrCat("the manifest's arrays end at byte ", end, " of a data file of ", manifest.data_bytes, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status ParseLine(absl::string_view line, Manifest* manifest) {
  if (absl::ConsumePrefix(&line, "step ")) {
    return absl::SimpleAtoi(line, &manifest->step) && manifest->step >= 0 ? absl::OkStatus() : Malformed("step", line);
  }
  if (absl::ConsumePrefix(&line, "data ")) {
    return absl::SimpleAtoi(line, &manifest->data_bytes) ? absl::OkStatus() : Malformed("data size", line);
  }
  if (absl::ConsumePrefix(&line, "array ")) {
    WAGGLE_ASSIGN_OR_RETURN(ManifestEntry entry, ParseArray(line));
    manifest->entries.push_back(std::move(entry));
    return absl::OkStatus();
  }
  if (absl::ConsumePrefix(&line, "text ")) {
    WAGGLE_ASSIGN_OR_RETURN(auto text, ParseText(line));
    manifest->texts.insert(std::move(text));
    return absl::OkStatus();
  }
  return Malformed("line", line);
}

}  // namespace

int64_t AlignedOffset(int64_t end) {
  return (end + kAlignment - 1) / kAlignment * kAlignment;
}

std::string FormatManifest(const Manifest& manifest) {
  std::string bytes = absl::StrCat(kMagic, kCheckpointFormatVersion, "\n", "step ", manifest.step, "\n", "data ",
                                   manifest.data_bytes, "\n");
  for (const ManifestEntry& entry : manifest.entries) {
    absl::StrAppend(&bytes, "array ", entry.spec.name, " ", DTypeName(entry.spec.dtype), " [",
                    absl::StrJoin(entry.spec.shape, ","), "] ", entry.offset, " ", Hex(entry.checksum), "\n");
  }
  for (const auto& [name, text] : manifest.texts) {
    absl::StrAppend(&bytes, "text ", name, " \"", absl::CEscape(text), "\"\n");
  }
  absl::StrAppend(&bytes, kChecksum, Hex(XXH3_64bits(bytes.data(), bytes.size())), "\n");
  return bytes;
}

absl::StatusOr<Manifest> ParseManifest(absl::string_view bytes) {
  WAGGLE_ASSIGN_OR_RETURN(const absl::string_view body, VerifiedBody(bytes));
  bool first = true;
  Manifest manifest;
  for (const absl::string_view line : absl::StrSplit(absl::StripSuffix(body, "\n"), '\n')) {
    WAGGLE_RETURN_IF_ERROR(first ? ParseVersion(line) : ParseLine(line, &manifest));
    first = false;
  }
  WAGGLE_RETURN_IF_ERROR(CheckLayout(manifest));
  // There is one way to write a manifest: what the parts above are lenient about (order, repetition, signs, blanks)
  // shows here.
  if (FormatManifest(manifest) != bytes) {
    return absl::DataLossError("the manifest is not in its canonical form");
  }
  return manifest;
}

}  // namespace waggle
