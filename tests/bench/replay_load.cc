#include "tests/bench/replay_load.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/bench/must.h"

namespace waggle::bench {
namespace {

using Rows = ViewField::Rows;

constexpr int64_t kTableBytes = int64_t{400} << 20;
constexpr int64_t kBlockBytes = int64_t{1} << 20;

ReplayLoad NewLoad(const std::string& name, std::vector<ArraySpec> signature, std::vector<ViewField> view) {
  ReplayLoad load;
  load.name = name;
  load.table.name = name;
  load.table.signature = std::move(signature);
  load.table.view = std::move(view);
  load.table.sampler.kind = SelectorKind::kPrioritized;
  load.table.sampler.priority_exponent = 0.6;
  load.table.max_bytes = int64_t{1} << 40;
  load.table.max_items =
      std::clamp<int64_t>(kTableBytes / static_cast<int64_t>(load.RowBytes()), 1, int64_t{200} * 1000);
  return load;
}

// Screens of a game like Pong: two bats and a ball on a background.
void DrawScreens(size_t screens, char* to) {
  constexpr size_t kSide = 84;
  Rng rng(3);
  std::memset(to, 87, screens * kSide * kSide);
  for (char* screen = to; screen < to + screens * kSide * kSide; screen += kSide * kSide) {
    const auto draw = [&](size_t column, size_t rows, int color) {
      const size_t top = static_cast<size_t>(rng.Uniform() * 76);
      for (size_t row = top; row < top + rows; ++row) {
        screen[row * kSide + column] = static_cast<char>(color);
      }
    };
    draw(9, 8, 213);
    draw(75, 8, 92);
    draw(static_cast<size_t>(10 + rng.Uniform() * 64), 2, 236);
  }
}

}  // namespace

BlockSource::BlockSource(const ReplayLoad& load)
    : load_(load), size_(static_cast<size_t>(load.BlockBytes())), data_(AllocateBytes(size_)) {
  std::memset(data_.get(), 0x3c, size_);  // Finite in every floating-point type.
  if (load.table.signature[0].shape == std::vector<int64_t>{84, 84}) {
    DrawScreens(size_t{load.lanes} * load.rows, data_.get());
  }
}

InsertBlock BlockSource::Next() {
  InsertBlock block;
  block.chunks.reserve(load_.lanes);
  block.items.reserve(static_cast<size_t>(ItemsPerBlock()));
  for (uint32_t lane = 0; lane < load_.lanes; ++lane) {
    block.chunks.push_back({lane, next_row_, load_.rows});
    for (uint64_t row = next_row_; row < next_row_ + load_.rows; ++row) {
      if (row + 1 >= load_.window) {
        const uint64_t first = row + 1 - load_.window;
        block.items.push_back({0, lane, first, load_.window, 0.1 + rng_.Uniform(),
                               static_cast<uint32_t>(std::min<uint64_t>(first, load_.context))});
      }
    }
  }
  next_row_ += load_.rows;
  block.data.Append({data_.get(), size_, data_});
  return block;
}

ReplayWriterOptions WriterOptions(const ReplayLoad& load, const std::string& writer_id) {
  ReplayWriterOptions options;
  options.writer_id = writer_id;
  options.tables = {load.table.name};
  options.signature = load.table.signature;
  return options;
}

double ReplayLoad::RowBytes() const {
  double bytes = 0;
  for (const ArraySpec& column : table.signature) {
    bytes += static_cast<double>(column.NumBytes());
  }
  return bytes;
}

double ReplayLoad::BatchBytes() const {
  return static_cast<double>(Must(MakeBatchLayout(table, batch_size, size_t{1} << 40)).total_bytes);
}

ReplayLoad BytesLoad(const std::string& name, int64_t bytes) {
  ReplayLoad load = NewLoad(name, {{"data", DType::kUint8, {bytes}}}, {{"data", "data", Rows::kFirst}});
  load.rows = static_cast<uint32_t>(std::clamp<int64_t>(kBlockBytes / bytes, 1, 256));
  load.batch_size = bytes < 10'000 ? 512 : bytes < 100'000 ? 256 : 16;
  return load;
}

ReplayLoad CartPoleTransitions() {
  ReplayLoad load = NewLoad("cartpole",
                            {{"observation", DType::kFloat32, {4}},
                             {"action", DType::kInt64, {}},
                             {"reward", DType::kFloat32, {}},
                             {"next_observation", DType::kFloat32, {4}},
                             {"done", DType::kInt64, {}}},
                            {{"observation", "observation", Rows::kFirst},
                             {"action", "action", Rows::kFirst},
                             {"reward", "reward", Rows::kFirst},
                             {"next_observation", "next_observation", Rows::kFirst},
                             {"done", "done", Rows::kFirst}});
  load.lanes = 16;
  load.rows = 16;
  return load;
}

ReplayLoad CartPoleWindows() {
  ReplayLoad load = NewLoad("cartpole_windows",
                            {{"observation", DType::kFloat32, {4}},
                             {"action", DType::kInt64, {}},
                             {"reward", DType::kFloat32, {}},
                             {"discount", DType::kFloat32, {}},
                             {"step_type", DType::kInt32, {}}},
                            {{"observation", "observation", Rows::kFirst},
                             {"action", "action", Rows::kFirst},
                             {"reward", "reward", Rows::kAll},
                             {"discount", "discount", Rows::kAll},
                             {"next_observation", "observation", Rows::kLast}});
  load.table.max_window = 4;
  load.lanes = 16;
  load.rows = 16;
  load.window = 4;
  return load;
}

ReplayLoad Frames() {
  ReplayLoad load = NewLoad("frames",
                            {{"frame", DType::kUint8, {84, 84}},
                             {"action", DType::kInt64, {}},
                             {"reward", DType::kFloat32, {}},
                             {"discount", DType::kFloat32, {}}},
                            {{"observation", "frame", Rows::kFirst, /*stack=*/4},
                             {"action", "action", Rows::kFirst},
                             {"reward", "reward", Rows::kAll},
                             {"discount", "discount", Rows::kAll},
                             {"next_observation", "frame", Rows::kLast, /*stack=*/4}});
  load.table.max_window = 4;
  load.lanes = 4;
  load.rows = 16;
  load.window = 4;
  load.context = 3;
  load.batch_size = 32;
  return load;
}

}  // namespace waggle::bench
