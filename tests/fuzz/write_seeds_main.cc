// Writes seed inputs for the fuzzers: messages of honest peers. usage: write_seeds FOLDER
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "common/base/tensor/checksum.h"
#include "common/hub/gradients/gradient_convert.h"
#include "common/hub/hub_convert.h"
#include "common/replay/blocks/block_compression.h"
#include "common/replay/file/replay_file.h"
#include "common/replay/replay_convert.h"
#include "common/replay/table_config_convert.h"
#include "common/rl/checkpoint/checkpoint_file.h"
#include "param_server/run/hub_state.h"
#include "tests/fuzz/fuzz_database.h"
#include "tests/fuzz/fuzz_durable.h"
#include "tests/fuzz/fuzz_environment.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_service.h"
#include "waggle/v1/worker.pb.h"

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

// The inverse of fuzz::Input's cutting.
std::string Framed(const grpc::ByteBuffer& buffer) {
  const std::string bytes = Bytes(buffer);
  return std::string({static_cast<char>(bytes.size() / 256), static_cast<char>(bytes.size() % 256)}) + bytes;
}

std::string Framed(const google::protobuf::MessageLite& message) {
  return Framed(EncodeMessage(message, ByteSlices()));
}

std::string ReadAndRemove(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::filesystem::remove(path);
  return bytes;
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

std::string Request(uint8_t method, const google::protobuf::MessageLite& request) {
  return std::string(1, static_cast<char>(method)) + Framed(request);
}

// A request that names the table.
template <class Request>
Request To(uint8_t table) {
  Request request;
  request.set_table(fuzz::TableName(table));
  return request;
}

v1::InspectRequest PageOf(uint8_t table) {
  auto request = To<v1::InspectRequest>(table);
  request.set_page_size(10);
  request.set_statistics(true);
  return request;
}

v1::InspectRequest ItemOf(uint8_t table) {
  auto request = To<v1::InspectRequest>(table);
  request.add_keys(1);
  request.set_columns(true);
  request.set_max_column_bytes(1000);
  return request;
}

// In the order of the fuzzer's methods.
void WriteTables(const std::filesystem::path& folder) {
  for (uint8_t table = 0; table < fuzz::kTables; ++table) {
    const std::string first(1, static_cast<char>(table));
    v1::ReconfigureRequest changed;
    TableConfig config = fuzz::Table(table);
    config.max_items = 2;
    *changed.mutable_config() = ToProto(config);
    changed.set_config_generation(1);
    v1::CreateTableRequest created;
    config.name = "other";
    config.rate_limiter = {2, 3, 0, -4.0, 8.0};
    config.sampler.recent_share = config.sampler.kind == SelectorKind::kPrioritized ? 0.5 : 0;
    *created.mutable_config() = ToProto(config);
    Write(folder, "table_requests", table, first + Request(0, created) + Request(1, changed));

    auto update = To<v1::UpdatePrioritiesRequest>(table);
    update.add_keys(0);
    update.add_generations(1);
    update.add_priorities(2.5);
    auto gone = To<v1::DeleteRequest>(table);
    gone.add_keys(0);
    gone.add_generations(1);
    Write(folder, "table_requests", 10 + table,
          first + Request(2, update) + Request(3, PageOf(table)) + Request(3, ItemOf(table)) + Request(4, gone) +
              Request(6, To<v1::ExplainRequest>(table)) + Request(7, v1::DescribeRequest()) +
              Request(5, To<v1::ClearRequest>(table)));
    const auto whole = To<v1::ExportRequest>(table);
    Write(folder, "table_requests", 20 + table,
          first + Request(9, whole) + Request(1, changed) + Request(2, update) + Request(9, whole));
  }
}

// A server's answers to a writer that has sent three blocks, and to an update.
void WriteClientAnswers(const std::filesystem::path& folder) {
  v1::InsertResponse opened;
  opened.mutable_opened()->set_applied_sequence(0);
  v1::InsertResponse some;
  some.mutable_ack()->set_applied_sequence(1);
  some.mutable_ack()->set_items_inserted(1);
  v1::InsertResponse all;
  all.mutable_ack()->set_applied_sequence(3);
  all.mutable_ack()->set_items_inserted(2);
  all.mutable_ack()->set_items_without_rows(1);
  all.mutable_ack()->set_durable_sequence(2);
  Write(folder, "client_answers", 0, std::string(1, '\0') + Framed(opened) + Framed(some) + Framed(all));
  opened.mutable_opened()->set_applied_sequence(2);
  opened.mutable_opened()->set_items_inserted(2);
  Write(folder, "client_answers", 1, std::string(1, '\0') + Framed(opened) + Framed(all));
  v1::UpdatePrioritiesResponse updated;
  updated.set_applied(1);
  updated.set_stale(1);
  Write(folder, "client_answers", 2, '\1' + Framed(updated));
}

// A server's answers, in the form of the fuzzer server_answers.
void WriteAnswers(const std::filesystem::path& folder) {
  ReplayStore store(fuzz::SmallStore());
  fuzz::CreateTables(&store);
  fuzz::InsertSome(&store, 0);
  Executor executor("seeds", 1, 1000);
  ReplayService service(&store, nullptr, &executor, &executor, ReplayServiceOptions());
  const auto answer = [&service](fuzz::Method method, const google::protobuf::MessageLite& request) {
    return Framed(fuzz::Ask(&service, method, EncodeMessage(request, ByteSlices())));
  };
  v1::OverviewResponse overview;
  overview.set_run_state(v1::RUN_STATE_RUNNING);
  overview.set_experiment_name("experiment");
  overview.set_running_ms(1000);
  overview.add_evaluations()->set_episodes(3);
  for (const v1::Role role : {v1::ROLE_LEARNER, v1::ROLE_ACTOR, v1::ROLE_REPLAY_SERVER}) {
    v1::WorkerInfo* const worker = overview.add_workers();
    worker->set_worker_id("worker");
    worker->set_role(role);
    worker->set_alive(true);
    (*worker->mutable_counters())["env_steps"] = 100;
    (*worker->mutable_rates())["learner_steps"] = 2;
    (*worker->mutable_gauges())["training_return"] = 20;
  }
  Write(folder, "server_answers", 0, std::string(1, '\0') + answer(&ReplayService::Explain, v1::ExplainRequest()));
  Write(folder, "server_answers", 1, '\1' + answer(&ReplayService::Inspect, PageOf(0)));
  Write(folder, "server_answers", 2, '\1' + answer(&ReplayService::Inspect, ItemOf(0)));
  Write(folder, "server_answers", 3, '\2' + Framed(overview) + answer(&ReplayService::Describe, v1::DescribeRequest()));
}

// An environment with leaves of every kind, in an actor's and in the hub's messages.
void WriteHubMessages(const std::filesystem::path& folder) {
  EnvironmentSpec environment;
  environment.name = "Seed";
  environment.observations = {Box("observation/camera", DType::kUint8, {2, 2}, 0, 255), Discrete("observation/gear", 4),
                              MultiBinary("action_mask/move", {7})};
  environment.actions = {MultiDiscrete("action/move", {3, 4}),
                         Box("action/turn", DType::kFloat32, {2}, {-1, -2}, {1, 2})};
  environment.rewards[0].shape = {2};
  Write(folder, "hub_messages", 0, std::string(1, '\0') + Bytes(EncodeMessage(ToProto(environment), ByteSlices())));
  Assignment assignment;
  assignment.run_state = RunState::kRunning;
  assignment.experiment_yaml = "algorithm: {name: apex_dqn}";
  assignment.environment = environment;
  Write(folder, "hub_messages", 1, '\1' + Bytes(EncodeMessage(ToProto(assignment), ByteSlices())));
}

// A sum with two members, its answer, and a checkpoint's record of them.
void WriteGradientMessages(const std::filesystem::path& folder) {
  GradientPush push;
  push.model = {7, {{"actor", 3}, {"critic", 2}}};
  push.members = {{"actor-0", 0, 5, {1, 40}, 4, 3}, {"actor-1", 1, 1, {1, 41}, 0, 0}};
  Write(folder, "gradient_messages", 0, std::string(1, '\0') + Bytes(EncodeMessage(ToProto(push), ByteSlices())));
  const GradientAnswer answer = SameForAll(push, GradientVerdict::kStale, "old");
  Write(folder, "gradient_messages", 1, "\1\2" + Bytes(EncodeMessage(ToProto(answer), ByteSlices())));
  Write(folder, "gradient_messages", 2, "\2 0 4 3 5:0:1:41\nactor-1 1 0 0\n");
}

// The saved state of a server with these tables, after one writer has written to all of them.
std::string StateOf(const std::vector<uint8_t>& tables) {
  fuzz::ScratchDatabase scratch;
  fuzz::Input nothing(nullptr, 0);
  const std::shared_ptr<Database> database = scratch.Fill(&nothing);
  {
    fuzz::DurableStore replay(database, *LoadSavedState(database.get()), scratch.env());
    std::vector<std::string> names;
    for (const uint8_t table : tables) {
      WAGGLE_CHECK(replay.store()->CreateTable(fuzz::DurableTable(table)).ok(), "the table is valid");
      names.push_back(fuzz::TableName(table));
    }
    const TableConfig config = fuzz::DurableTable(tables.front());
    const auto session = *replay.store()->OpenWriter("w", names, config.signature);
    for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
      InsertBlock block = fuzz::ZeroBlock(config, {{0, 4 * (sequence - 1), 4, false}, {1, sequence - 1, 1, false}},
                                          static_cast<uint32_t>(names.size()), 2);
      absl::Notification done;
      session->Insert(sequence, std::move(block), [&done](const auto& result) {
        WAGGLE_CHECK(result.ok(), result.status().ToString());
        done.Notify();
      });
      done.WaitForNotification();
    }
    fuzz::SampleAll(replay.store());
  }
  return scratch.Dump();
}

void WriteStorage(const std::filesystem::path& folder) {
  Write(folder, "saved_state", 0, StateOf({0}));
  Write(folder, "saved_state", 1, StateOf({1}));
  Write(folder, "saved_state", 2, StateOf({2}));
  const std::string state = StateOf({0, 1});
  Write(folder, "saved_state", 3, state);
  fuzz::Input input(reinterpret_cast<const uint8_t*>(state.data()), state.size());
  for (int number = 0; !input.empty(); number += 2) {
    const char kind = fuzz::kKinds[input.Byte()];
    const uint64_t first = input.Byte();
    const std::string key = fuzz::KeyOf(kind, first, input.Byte());
    const std::string value = input.NextString();
    Write(folder, "storage_records", number, std::string("\0\1", 2) + key);
    Write(folder, "storage_records", number + 1, (kind == 'i' ? "\1\1" : "\2\1") + value);
  }
}

// Records in the fuzzer's form, and a whole file.
void WriteReplayFiles(const std::filesystem::path& folder) {
  for (uint8_t table = 0; table < fuzz::kTables; ++table) {
    const TableConfig config = fuzz::Table(table);
    TableConfig plain = config;
    plain.compression.clear();
    const InsertBlock block = fuzz::ZeroBlock(plain, {{0, 0, 4, true}}, 1, 2);
    v1::ExportResponse header;
    *header.mutable_header()->mutable_config() = ToProto(config);
    Message<v1::ExportResponse> body;
    *body.header.mutable_block() = ToProto(block);
    body.header.mutable_block()->set_sequence(1);
    body.data = block.data;
    std::string end(16, '\0');
    end[0] = end[8] = 1;
    const std::string framed_end = std::string("\0\x10", 2) + end;
    Write(folder, "replay_file", table,
          "\1\1\1" + Framed(header) + "\2\1" + Framed(EncodeMessage(body)) + "\3\1" + framed_end);

    const std::string path = folder / "replay_file" / "whole";
    {
      const auto file = *ReplayFileWriter::Create(path, config, 1);
      WAGGLE_CHECK(file->Append(block).ok() && file->Finish().ok(), "the file can be written");
    }
    Write(folder, "replay_file", 10 + table, std::string(1, '\0') + ReadAndRemove(path));
  }
}

void WriteTexts(const std::filesystem::path& folder) {
  CheckpointContents contents;
  contents.step = 3;
  contents.texts = {{"generator", "1 2"}};
  const auto array = [](const ArraySpec& spec) {
    const auto size = static_cast<size_t>(spec.NumBytes());
    const std::shared_ptr<char> bytes = AllocateBytes(size);
    std::memset(bytes.get(), 1, size);
    return CheckpointArray{spec, ByteSlices(ByteSlice{bytes.get(), size, bytes})};
  };
  contents.arrays = {array({"a", DType::kFloat32, {2, 2}}), array({"b", DType::kUint8, {8}})};
  std::filesystem::create_directories(folder / "text");
  const std::string path = folder / "text" / "whole";
  WAGGLE_CHECK(WriteCheckpointFile(contents, path).ok(), "the file can be written");
  const std::string bytes = ReadAndRemove(path);
  // 24 bytes follow the header.
  Write(folder, "text", 1,
        std::string("\1\x18\0\0\0", 5) +
            bytes.substr(kSafetensorsLengthBytes, bytes.size() - kSafetensorsLengthBytes - 24));
  HubRecord record;
  record.last_epoch = 2;
  record.progress.running = absl::Seconds(1000);
  record.progress.steps_of = {{"actor", 100}};
  record.last_evaluation.emplace();
  record.last_evaluation->worker_id = "actor";
  record.experiment_yaml = "name: experiment";
  const std::string text = EncodeHubRecord(record);
  Write(folder, "text", 2, '\2' + text);
  Write(folder, "text", 3, '\3' + text.substr(text.find('\n') + 1));
}

// For streams of one lane and of several.
void WriteEnvironments(const std::filesystem::path& folder) {
  for (int64_t lanes = 1; lanes <= 3; ++lanes) {
    const auto served = ServedEnvironment::Create(*fuzz::NullDefinition(), fuzz::Spaces(),
                                                  lanes == 1 ? std::nullopt : std::optional<int64_t>(lanes), Rng(1));
    WAGGLE_CHECK(served.ok(), served.status().message());
    const dm::StepRequest whole = fuzz::WholeStep((*served)->specs());
    dm::EnvironmentRequest request;
    request.mutable_create_world();
    std::string requests = Framed(request);
    request.mutable_join_world()->set_world_name("world-1");
    if (lanes > 1) {
      (*request.mutable_join_world()->mutable_settings())[kLanesSetting].mutable_int64s()->add_array(lanes);
    }
    requests += Framed(request);
    *request.mutable_step() = whole;
    for (int step = 0; step < 5; ++step) {
      requests += Framed(request);
    }
    request.mutable_reset();
    requests += Framed(request);
    Write(folder, "environment_requests", static_cast<int>(lanes), requests);

    std::string answers(1, static_cast<char>(lanes - 1));
    answers += Framed((*served)->specs());
    for (int step = 0; step < 5; ++step) {
      dm::StepResponse response;
      WAGGLE_CHECK((*served)->Step(whole, false, &response).ok(), "the step is right");
      answers += Framed(response);
    }
    Write(folder, "environment_answers", static_cast<int>(lanes), answers);
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
  waggle::WriteAnswers(argv[1]);
  waggle::WriteHubMessages(argv[1]);
  waggle::WriteGradientMessages(argv[1]);
  waggle::WriteClientAnswers(argv[1]);
  waggle::WriteStorage(argv[1]);
  waggle::WriteReplayFiles(argv[1]);
  waggle::WriteTexts(argv[1]);
  waggle::WriteEnvironments(argv[1]);
  return 0;
}
