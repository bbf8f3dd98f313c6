// Writes inputs for the fuzzers to begin with: what honest peers send. usage: write_seeds FOLDER
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "common/api/block_compression.h"
#include "common/clients/replay_convert.h"
#include "common/clients/table_config_convert.h"
#include "common/tensor/checksum.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_tables.h"

namespace waggle {
namespace {

std::string Bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  WAGGLE_CHECK(buffer.Dump(&slices).ok(), "a buffer of ours can be read");
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// As fuzz::Input takes messages apart.
std::string Framed(const grpc::ByteBuffer& buffer) {
  const std::string bytes = Bytes(buffer);
  return std::string({static_cast<char>(bytes.size() / 256), static_cast<char>(bytes.size() % 256)}) + bytes;
}

void Write(const std::filesystem::path& folder, const std::string& fuzzer, int number, const std::string& bytes) {
  std::filesystem::create_directories(folder / fuzzer);
  std::ofstream(folder / fuzzer / std::to_string(number), std::ios::binary) << bytes;
}

grpc::ByteBuffer Block(uint8_t table, uint64_t sequence, uint64_t first_row) {
  constexpr uint32_t kRows = 4;
  const std::shared_ptr<char> rows = AllocateBytes(kRows * 9);
  std::memset(rows.get(), 0, kRows * 9);
  InsertBlock block;
  block.chunks = {{0, first_row, kRows, first_row == 0}};
  block.items = {{0, 0, first_row, 2, 1.5, 0}, {0, 0, first_row + 1, 3, 0.5, table == 1 ? 1U : 0U}};
  block.data.Append({rows.get(), kRows * 9, rows});
  const TableConfig config = fuzz::Table(table);
  WAGGLE_CHECK(CompressBlock(config.signature, ColumnCodecs(config.signature, config.compression), &block).ok(),
               "the block is whole");
  block.checksum = Checksum(block.data);
  Message<v1::InsertRequest> message;
  *message.header.mutable_block() = ToProto(block);
  message.header.mutable_block()->set_sequence(sequence);
  message.data = block.data;
  return EncodeMessage(message);
}

void WriteInserts(const std::filesystem::path& folder) {
  for (uint8_t table = 0; table < fuzz::kTables; ++table) {
    const std::string blocks = Framed(Block(table, 1, 0)) + Framed(Block(table, 2, 4));
    Write(folder, "insert_stream", table, std::string(1, static_cast<char>(table)) + blocks);
    Write(folder, "insert_stream", 10 + table, "\xff" + Framed(EncodeMessage(fuzz::OpenInsert(table))) + blocks);
  }
}

void WriteSamples(const std::filesystem::path& folder) {
  Message<v1::SampleRequest> open;
  open.header.mutable_open()->set_table(fuzz::TableName(0));
  open.header.mutable_open()->set_batch_size(4);
  Message<v1::SampleRequest> draws;
  draws.header.add_draw_items(2);
  draws.header.add_draw_counted(3);
  draws.header.set_credits(1);
  Write(folder, "sample_stream", 0, Framed(EncodeMessage(open)) + Framed(EncodeMessage(draws)));

  const BatchLayout layout = *MakeBatchLayout(fuzz::Table(0), 4, 1 << 20);
  Message<v1::SampleResponse> opened;
  *opened.header.mutable_opened() = ToProto(layout);
  Message<v1::SampleResponse> batch;
  batch.header.mutable_batch()->set_table_items(4);
  batch.header.mutable_batch()->set_priority_sum(2);
  const std::shared_ptr<char> bytes = AllocateBytes(layout.total_bytes);
  std::memset(bytes.get(), 0, layout.total_bytes);
  batch.data.Append({bytes.get(), layout.total_bytes, bytes});
  batch.header.set_checksum(Checksum(batch.data));
  Write(folder, "sample_response", 0, Framed(EncodeMessage(batch)));
  Write(folder, "sample_response", 1, Framed(EncodeMessage(opened)) + Framed(EncodeMessage(batch)));
}

void WriteTables(const std::filesystem::path& folder) {
  for (uint8_t table = 0; table < fuzz::kTables; ++table) {
    TableConfig config = fuzz::Table(table);
    const std::string changed = Framed(EncodeMessage(ToProto(config), ByteSlices()));
    config.name = "other";
    config.rate_limiter = {2, 3, 0, -4.0, 8.0};
    config.sampler.recent_share = config.sampler.kind == SelectorKind::kPrioritized ? 0.5 : 0;
    const std::string created = Framed(EncodeMessage(ToProto(config), ByteSlices()));
    Write(folder, "table_requests", table, std::string(1, '\0') + created + '\x01' + changed);
  }
}

}  // namespace
}  // namespace waggle

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_seeds FOLDER\n";
    return 2;
  }
  waggle::WriteInserts(argv[1]);
  waggle::WriteSamples(argv[1]);
  waggle::WriteTables(argv[1]);
  return 0;
}
