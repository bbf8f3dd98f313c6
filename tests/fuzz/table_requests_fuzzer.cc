// What anybody may ask of a replay server's tables: configurations, updates, looks at their items.
#include "absl/types/span.h"
#include "common/clients/table_config_convert.h"
#include "replay_server/inspect_convert.h"
#include "replay_server/table/inspect.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_tables.h"

namespace waggle {
namespace {

template <class Request>
bool Decode(fuzz::Input* input, Request* request) {
  ByteSlices data;
  return DecodeMessage(input->NextMessage(), kMaxHeaderBytes, request, &data).ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  ReplayStore store(fuzz::SmallStore());
  fuzz::CreateTables(&store);
  while (!input.empty()) {
    v1::TableConfig proto;
    v1::UpdatePrioritiesRequest update;
    v1::InspectRequest inspect;
    switch (input.Byte() % 4) {
      case 0:
        if (Decode(&input, &proto)) {
          if (const absl::StatusOr<TableConfig> config = FromProto(proto); config.ok()) {
            store.CreateTable(*config).status().IgnoreError();
            WAGGLE_CHECK(Differences(*FromProto(ToProto(*config)), *config).empty(), "a configuration comes back");
          }
        }
        break;
      case 1:
        if (Decode(&input, &proto)) {
          if (const absl::StatusOr<TableConfig> config = FromProto(proto); config.ok()) {
            store.Reconfigure(*config, 1, false).status().IgnoreError();
          }
        }
        break;
      case 3:
        if (Decode(&input, &inspect)) {
          const std::shared_ptr<Table> table = *store.FindTable(fuzz::TableName(input.Byte() % fuzz::kTables));
          if (const absl::StatusOr<InspectRequest> request = FromProto(inspect); request.ok()) {
            Inspect(*table, *request).status().IgnoreError();
          }
        }
        break;
      default:
        if (Decode(&input, &update)) {
          const std::shared_ptr<Table> table = *store.FindTable(fuzz::TableName(input.Byte() % fuzz::kTables));
          table
              ->UpdatePriorities(absl::MakeConstSpan(update.keys().data(), update.keys_size()),
                                 absl::MakeConstSpan(update.generations().data(), update.generations_size()),
                                 absl::MakeConstSpan(update.priorities().data(), update.priorities_size()))
              .status()
              .IgnoreError();
        }
    }
  }
  return 0;
}

}  // namespace waggle
