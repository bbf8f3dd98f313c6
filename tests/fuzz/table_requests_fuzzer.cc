// All requests to a replay server's tables, except the streams of writers and samplers, to tables with some items.
#include <algorithm>
#include <optional>

#include "common/replay/blocks/block_compression.h"
#include "common/replay/table_config_convert.h"
#include "replay_server/store/table_exporter.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_service.h"

namespace waggle {
namespace {

constexpr fuzz::Method kMethods[] = {
    &ReplayService::CreateTable, &ReplayService::Reconfigure, &ReplayService::UpdatePriorities,
    &ReplayService::Inspect,     &ReplayService::Delete,      &ReplayService::Clear,
    &ReplayService::Explain,     &ReplayService::Describe,    &ReplayService::Checkpoint};
constexpr uint8_t kUpdatePriorities = 2;
constexpr uint8_t kDelete = 4;
constexpr uint8_t kMethodCount = sizeof(kMethods) / sizeof(kMethods[0]);
constexpr uint8_t kExport = kMethodCount;  // Is answered by a stream.

void CheckComesBack(const grpc::ByteBuffer& request) {
  v1::CreateTableRequest proto;
  ByteSlices data;
  if (DecodeMessage(request, kMaxHeaderBytes, &proto, &data).ok()) {
    if (const absl::StatusOr<TableConfig> config = FromProto(proto.config()); config.ok()) {
      WAGGLE_CHECK(Differences(*FromProto(ToProto(*config)), *config).empty(), "a configuration comes back");
    }
  }
}

// A table's generations begin with a random number: in an input 1 stands for the existing item's.
template <class Request>
grpc::ByteBuffer WithGenerations(const ReplayStore& store, const grpc::ByteBuffer& bytes) {
  Request request;
  ByteSlices data;
  if (!DecodeMessage(bytes, kMaxHeaderBytes, &request, &data).ok()) {
    return bytes;
  }
  const absl::StatusOr<std::shared_ptr<Table>> table = store.FindTable(request.table());
  for (int i = 0; table.ok() && i < std::min(request.keys_size(), request.generations_size()); ++i) {
    const std::optional<Table::HeldItem> held = (*table)->Hold(request.keys(i));
    if (held.has_value() && request.generations(i) == 1) {
      request.set_generations(i, held->facts.generation);
    }
  }
  return EncodeMessage(request, ByteSlices());
}

// An export, after any requests, must fill a table of the same configuration with the same items.
void Export(const ReplayStore& store, const grpc::ByteBuffer& bytes) {
  v1::ExportRequest request;
  ByteSlices data;
  if (!DecodeMessage(bytes, kMaxHeaderBytes, &request, &data).ok()) {
    return;
  }
  const absl::StatusOr<std::shared_ptr<Table>> table = store.FindTable(request.table());
  if (!table.ok()) {
    return;
  }
  TableConfig config = *(*table)->config();
  config.rate_limiter = RateLimiterConfig();  // There are no samplers.
  ReplayStore other(fuzz::SmallStore());
  WAGGLE_CHECK(other.CreateTable(config).ok(), "the table is valid");
  const auto session = *other.OpenWriter("import", {config.name}, config.signature);
  TableExporter exporter(*table);
  exporter.Prepare();
  for (uint64_t sequence = 1;; ++sequence) {
    absl::StatusOr<std::optional<InsertBlock>> block = exporter.Next();
    WAGGLE_CHECK(block.ok(), block.status().ToString());
    if (!block->has_value()) {
      break;
    }
    WAGGLE_CHECK(CompressBlock(config.signature, ColumnCodecs(config.signature, config.compression), &**block).ok(),
                 "the block is whole");
    session->Insert(sequence, **std::move(block),
                    [](const auto& result) { WAGGLE_CHECK(result.ok(), result.status().ToString()); });
  }
  WAGGLE_CHECK((*other.FindTable(config.name))->info().items_inserted == exporter.items(), "all items come back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  ReplayStore store(fuzz::SmallStore());
  fuzz::CreateTables(&store);
  fuzz::InsertSome(&store, input.Byte() % fuzz::kTables);
  static Executor executor("fuzz", 1, 1000);
  ReplayService service(&store, nullptr, &executor, &executor, ReplayServiceOptions());
  while (!input.empty()) {
    const uint8_t method = input.Byte() % (kMethodCount + 1);
    grpc::ByteBuffer request = input.NextMessage();
    if (method == kExport) {
      Export(store, request);
      continue;
    }
    if (method == 0) {
      CheckComesBack(request);
    } else if (method == kUpdatePriorities) {
      request = WithGenerations<v1::UpdatePrioritiesRequest>(store, request);
    } else if (method == kDelete) {
      request = WithGenerations<v1::DeleteRequest>(store, request);
    }
    fuzz::Ask(&service, kMethods[method], request);
  }
  fuzz::SampleAll(&store);
  return 0;
}

}  // namespace waggle
