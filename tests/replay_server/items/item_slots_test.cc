#include "replay_server/items/item_slots.h"

#include <memory>
#include <utility>

#include "common/base/random.h"
#include "tests/replay_server/table/table_fixture.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

using Facts = ItemSlots::Facts;

Window WindowOver(std::vector<ChunkRef> chunks, uint32_t offset, uint32_t rows, uint8_t context = 0) {
  Window window;
  for (ChunkRef& chunk : chunks) {
    window.chunks.push_back(std::move(chunk));
  }
  window.offset = offset;
  window.rows = rows;
  window.context = context;
  return window;
}

void RequireHolds(const ItemSlots& slots, uint32_t slot, const Window& window, const Facts& facts) {
  const Facts found = slots.facts(slot);
  REQUIRE(slots.holds_item(slot));
  REQUIRE(slots.generation(slot) == facts.generation);
  REQUIRE(found.generation == facts.generation);
  REQUIRE(found.priority == facts.priority);
  REQUIRE(found.policy_version == facts.policy_version);
  REQUIRE(found.times_sampled == facts.times_sampled);
  REQUIRE(found.pins == facts.pins);
  REQUIRE(slots.pins(slot) == facts.pins);
  const Window held = slots.window(slot);
  REQUIRE(held.offset == window.offset);
  REQUIRE(held.rows == window.rows);
  REQUIRE(slots.rows(slot) == window.rows);
  REQUIRE(held.context == window.context);
  REQUIRE(slots.context(slot) == window.context);
  REQUIRE(held.chunks.size() == window.chunks.size());
  REQUIRE(slots.first_chunk(slot).get() == window.chunks.front().get());
  size_t next = 0;
  REQUIRE(slots.VisitChunks(slot, [&](const Chunk& chunk) { REQUIRE(&chunk == window.chunks[next++].get()); }) ==
          window.chunks.size());
  for (size_t i = 0; i < window.chunks.size(); ++i) {
    REQUIRE(held.chunks[i].get() == window.chunks[i].get());
  }
}

}  // namespace

TEST_CASE("a slot keeps small and large facts", "[unit]") {
  const std::vector<ChunkRef> chunks = testing::MakeRows(1, 0, {300, 300, 300});
  const auto one = [&chunks](uint32_t offset, uint32_t rows, uint8_t context = 0) {
    return WindowOver({chunks[0]}, offset, rows, context);
  };
  const std::vector<std::pair<Window, Facts>> items = {
      {one(0, 1), {1, 0.5, 7, 0, 0}},
      {one(255, 45), {2, 1e300, 7, 3, 1}},
      {one(0, 255, 7), {3, 0, 8, ItemSlots::kMaxTimesSampled, 7}},
      {one(0, 256), {4, 1, ~uint64_t{0}, 1, 0}},     // Too many rows,
      {one(8, 1, 8), {5, 1, 0, 1, 0}},               // too much context,
      {one(65536, 1), {6, 1, 9, 2, 0}},              // too far in,
      {one(3, 2), {uint64_t{1} << 40, 1, 9, 2, 8}},  // too many tables,
      {one(3, 2), {(uint64_t{1} << 47) + 5, 1, 9, 2, 65535}},
      {WindowOver({chunks[0], chunks[1]}, 299, 2), {(uint64_t{1} << 47) + 6, 2, 9, 0, 0}},
      {WindowOver(chunks, 1, 700, 2), {(uint64_t{1} << 47) + 7, 2, 10, 5, 3}},
  };
  ItemSlots slots;
  for (const auto& [window, facts] : items) {
    slots.Fill(slots.Take(), window, facts);
  }
  REQUIRE(slots.size() == items.size());
  for (uint32_t slot = 0; slot < slots.size(); ++slot) {
    INFO("slot " << slot);
    RequireHolds(slots, slot, items[slot].first, items[slot].second);
  }
  ItemSlots moved = std::move(slots);
  for (uint32_t slot = 0; slot < moved.size(); ++slot) {
    RequireHolds(moved, slot, items[slot].first, items[slot].second);
  }
}

TEST_CASE("parts of a window have only the chunks that a part reaches", "[unit]") {
  Rng rng(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint32_t> sizes(1 + rng.UniformInt(12));
    uint32_t total = 0;
    for (uint32_t& size : sizes) {
      total += size = static_cast<uint32_t>(1 + rng.UniformInt(4));
    }
    const auto offset = static_cast<uint32_t>(rng.UniformInt(sizes[0]));
    const auto below = [&rng](uint32_t bound) { return static_cast<uint32_t>(rng.UniformInt(bound)); };
    const uint32_t rows = total - offset;
    ItemSlots slots;
    slots.Fill(slots.Take(), WindowOver(testing::MakeRows(1, 0, sizes), offset, rows), {1, 1, 1, 0, 0});
    const uint32_t head = 1 + below(rows);
    const uint32_t end = 1 + below(rows);
    const uint32_t first = below(end);
    uint32_t left_out = 0;
    const Window parts = slots.window_parts(0, head, first, end, &left_out);
    CAPTURE(round, offset, rows, head, first, end, left_out);
    REQUIRE(parts.offset == offset);
    REQUIRE(parts.rows == rows);
    // The ids of all rows of the parts' chunks, in order.
    static const RowLayout layout(testing::SmallTable().signature);
    std::vector<int64_t> ids;
    for (const ChunkRef& chunk : parts.chunks) {
      for (uint32_t row = 0; row < chunk->rows(); ++row) {
        ids.push_back(*reinterpret_cast<const int64_t*>(chunk->Row(layout, 0, row)) - 1000);
      }
      // Each chunk is reached by a part.
      const int64_t last = ids.back() - offset;
      const int64_t begin = last + 1 - chunk->rows();
      REQUIRE((begin < int64_t{head} || (begin < int64_t{end} && last >= int64_t{first})));
    }
    for (uint32_t row = 0; row < head; ++row) {
      REQUIRE(ids[offset + row] == offset + row);
    }
    for (uint32_t row = first; row < end; ++row) {
      const uint32_t place = row < head ? row : row - left_out;  // The rows between the parts are left out.
      REQUIRE(ids[offset + place] == offset + row);
    }
    REQUIRE((left_out == 0 || first >= head));
  }
}

TEST_CASE("the slot that was emptied last is taken first, and keeps its mark", "[unit]") {
  const std::vector<ChunkRef> chunks = testing::MakeRows(1, 0, {4});
  ItemSlots slots;
  for (uint64_t i = 1; i <= 3; ++i) {
    slots.Fill(slots.Take(), WindowOver({chunks[0]}, 0, 1), {i, 1, i, 0, 0});
  }
  slots.set_changed(1, true);
  slots.Empty(0);
  slots.Empty(1);
  REQUIRE(slots.changed(1));
  REQUIRE(!slots.changed(0));
  REQUIRE(slots.Take() == 1);
  REQUIRE(slots.Take() == 0);
  REQUIRE(slots.Take() == 3);
  slots.Fill(1, WindowOver({chunks[0]}, 1, 2), {4, 1, 4, 0, 0});
  REQUIRE(slots.changed(1));
  slots.set_priority(1, 5);
  slots.CountSampled(1);
  RequireHolds(slots, 1, WindowOver({chunks[0]}, 1, 2), {4, 5, 4, 1, 0});
  slots.Fill(0, WindowOver({chunks[0]}, 0, 1), {5, 1, 1, ItemSlots::kMaxTimesSampled - 1, 0});
  slots.CountSampled(0);
  slots.CountSampled(0);  // One more than can be counted.
  RequireHolds(slots, 0, WindowOver({chunks[0]}, 0, 1), {5, 1, 1, ItemSlots::kMaxTimesSampled, 0});
}

TEST_CASE("generations differ at any distance from the first one", "[unit]") {
  constexpr uint64_t kFar = uint64_t{1} << 48;
  const std::vector<ChunkRef> chunks = testing::MakeRows(1, 0, {4});
  const Window window = WindowOver({chunks[0]}, 0, 1);
  ItemSlots slots;
  slots.Fill(slots.Take(), window, {5, 1, 1, 0, 0});
  slots.Fill(slots.Take(), window, {kFar - 1, 1, 1, 0, 0});
  slots.Empty(0);
  slots.Fill(slots.Take(), window, {kFar + 100, 1, 1, 0, 0});
  slots.Fill(slots.Take(), window, {kFar + kFar - 3, 1, 1, 0, 0});
  REQUIRE(slots.generation(0) == kFar + 100);
  REQUIRE(slots.generation(1) == kFar - 1);
  REQUIRE(slots.generation(2) == kFar + kFar - 3);
}

}  // namespace waggle
