// Replay files for an import: whole files, and files of records with correct checksums. Blocks that can be read are
// sent to a replay server as an import does.
#include <unistd.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/tensor/checksum.h"
#include "common/base/tensor/compression.h"
#include "common/replay/blocks/block_compression.h"
#include "common/replay/file/replay_file.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_tables.h"

namespace waggle {
namespace {

// The file that this process writes and reads, in memory.
const std::string& Path() {
  static const std::string path = absl::StrCat("/dev/shm/waggle-replay-file-fuzzer-", getpid());
  return path;
}

template <class T>
void Append(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Appends a record, with the head of docs/replay_files.md: KIND STORAGE SIZE SIZE PAYLOAD…. The payload is stored as it
// is, is compressed, or only claims to be compressed.
void AppendRecord(fuzz::Input* input, std::string* file) {
  const uint32_t kind = input->Byte() % 5;
  const uint8_t storage = input->Byte() % 4;
  std::string stored = input->NextString();
  uint64_t bytes = stored.size();
  if (storage == 1) {
    std::string packed(MaxCompressedBytes(Codec::kZstd, stored.size()), '\0');
    packed.resize(Compress(Codec::kZstd, stored.data(), stored.size(), packed.data()));
    stored = packed.empty() ? stored : packed;
  } else if (storage == 2) {
    bytes = input->Byte() * uint64_t{64};
  }
  const bool plain = storage == 0 || (storage == 1 && stored.size() == bytes);
  std::string head;
  Append(kind, &head);
  Append(uint32_t{plain ? 0U : storage == 3 ? 3U : 1U}, &head);
  Append(uint64_t{stored.size()}, &head);
  Append(bytes, &head);
  Checksummer checksum;
  checksum.Update(head.data(), head.size());
  checksum.Update(stored.data(), stored.size());
  Append(checksum.Digest(), &head);
  absl::StrAppend(file, head, stored);
}

std::string FileOf(fuzz::Input* input) {
  if (input->Byte() % 8 == 0) {
    return input->RestString();
  }
  std::string file = "WAGGLERP";
  Append(uint32_t{1}, &file);
  while (!input->empty()) {
    AppendRecord(input, &file);
  }
  return file;
}

// Imports the file: a writer compresses the blocks, and its server takes them.
void Import(ReplayFileReader* reader) {
  TableConfig config = reader->config();
  config.durability = Durability::kNone;
  config.memory_limit = 0;
  ReplayStore store(fuzz::SmallStore());
  if (!store.CreateTable(config).ok()) {
    return;
  }
  const auto session = *store.OpenWriter("import", {config.name}, config.signature);
  const std::vector<Codec> codecs = ColumnCodecs(config.signature, config.compression);
  for (uint64_t sequence = 1;; ++sequence) {
    absl::StatusOr<std::optional<InsertBlock>> block = reader->Next();
    WAGGLE_CHECK(block.ok() || absl::IsDataLoss(block.status()), block.status().ToString());
    if (!block.ok() || !block->has_value() || !CompressBlock(config.signature, codecs, &**block).ok()) {
      break;
    }
    session->Insert(sequence, **std::move(block), [](const auto& /*result*/) {});
  }
  fuzz::SampleAll(&store);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  std::ofstream(Path(), std::ios::binary) << FileOf(&input);
  const absl::StatusOr<std::unique_ptr<ReplayFileReader>> reader = ReplayFileReader::Open(Path());
  unlink(Path().c_str());
  if (reader.ok()) {
    Import(reader->get());
  } else {
    WAGGLE_CHECK(absl::IsDataLoss(reader.status()) || absl::IsFailedPrecondition(reader.status()),
                 reader.status().ToString());
  }
  return 0;
}

}  // namespace waggle
