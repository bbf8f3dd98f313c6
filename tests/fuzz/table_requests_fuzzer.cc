// What anybody may ask of a replay server's tables: every request but the streams, to tables with some items.
#include <algorithm>
#include <optional>

#include "common/clients/table_config_convert.h"
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

void CheckComesBack(const grpc::ByteBuffer& request) {
  v1::CreateTableRequest proto;
  ByteSlices data;
  if (DecodeMessage(request, kMaxHeaderBytes, &proto, &data).ok()) {
    if (const absl::StatusOr<TableConfig> config = FromProto(proto.config()); config.ok()) {
      WAGGLE_CHECK(Differences(*FromProto(ToProto(*config)), *config).empty(), "a configuration comes back");
    }
  }
}

// The generations that a table gives begin with a random number: in an input 1 is that of the item that there is.
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  ReplayStore store(fuzz::SmallStore());
  fuzz::CreateTables(&store);
  fuzz::InsertSome(&store, input.Byte() % fuzz::kTables);
  static Executor executor("fuzz", 1, 1000);
  ReplayService service(&store, nullptr, &executor, &executor, ReplayServiceOptions());
  while (!input.empty()) {
    const uint8_t method = input.Byte() % kMethodCount;
    grpc::ByteBuffer request = input.NextMessage();
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
