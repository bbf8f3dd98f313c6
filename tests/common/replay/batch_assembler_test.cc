#include "common/replay/batch_assembler.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "common/base/tensor/checksum.h"
#include "common/base/tensor/compression.h"
#include "tests/support/catch.h"
#include "tests/support/replay_fixtures.h"

namespace waggle {
namespace {

using testing::ValueOf;

struct Assembly {
  const std::shared_ptr<const BatchLayout> layout =
      std::make_shared<const BatchLayout>(ValueOf(MakeBatchLayout(testing::SimpleTable("t"), 16, 1 << 20)));
  BufferPool pool{layout->total_bytes, 2};
  BatchAssembler assembler{[this](uint32_t /*items*/) { return layout; }, &pool};

  // A piece of a batch whose bytes tell their place.
  ByteSlices Piece(size_t offset, size_t size) const {
    const auto bytes = std::make_shared<std::string>();
    for (size_t i = 0; i < size; ++i) {
      bytes->push_back(static_cast<char>((offset + i) % 251));
    }
    return ByteSlices({bytes->data(), bytes->size(), bytes});
  }
};

v1::SampleResponse Begin() {
  v1::SampleResponse header;
  header.mutable_batch()->set_table_items(7);
  header.mutable_batch()->set_priority_sum(3.5);
  header.mutable_batch()->set_min_probability(0.25);
  return header;
}

v1::SampleResponse Continue(size_t offset) {
  v1::SampleResponse header;
  header.set_data_offset(offset);
  return header;
}

TEST_CASE("Pieces of any size become the batch that was cut", "[unit]") {
  Assembly assembly;
  const size_t total = assembly.layout->total_bytes;
  for (const size_t piece : {size_t{1}, size_t{100}, total - 1, total}) {
    std::optional<SampledBatch> batch;
    for (size_t offset = 0; offset < total; offset += piece) {
      REQUIRE(!batch.has_value());
      const size_t size = std::min(piece, total - offset);
      batch = ValueOf(assembly.assembler.Add(offset == 0 ? Begin() : Continue(offset), assembly.Piece(offset, size)));
    }
    REQUIRE(batch.has_value());
    CHECK(batch->table_items == 7);
    CHECK(batch->priority_sum == 3.5);
    CHECK(batch->min_probability == 0.25);
    CHECK(batch->layout == assembly.layout);
    bool equal = true;
    for (size_t i = 0; i < total; ++i) {
      equal = equal && batch->bytes.get()[i] == static_cast<char>(i % 251);
    }
    CHECK(equal);
  }
}

TEST_CASE("Pieces that do not follow each other are refused", "[unit]") {
  Assembly assembly;
  const size_t total = assembly.layout->total_bytes;
  const auto refused = [&](const v1::SampleResponse& header, const ByteSlices& data) {
    return assembly.assembler.Add(header, data).status().code() == absl::StatusCode::kInternal;
  };
  CHECK(refused(Continue(0), assembly.Piece(0, 10)));
  CHECK(refused(Begin(), ByteSlices()));
  CHECK(refused(Begin(), assembly.Piece(0, total + 1)));
  v1::SampleResponse header = Begin();
  header.set_data_offset(64);
  CHECK(refused(header, assembly.Piece(64, 10)));
  header = Begin();
  header.mutable_batch()->set_priority_sum(std::nan(""));
  CHECK(refused(header, assembly.Piece(0, 10)));
  const auto refused_with = [&](const auto& set) {
    v1::SampleResponse changed = Begin();
    set(changed.mutable_batch());
    return refused(changed, assembly.Piece(0, 10));
  };
  CHECK(refused_with([](v1::BatchHeader* facts) { facts->set_priority_sum(-1e-9); }));
  CHECK(refused_with([](v1::BatchHeader* facts) { facts->set_min_probability(-0.1); }));
  CHECK(refused_with([](v1::BatchHeader* facts) { facts->set_samples_allowed(-1); }));
  CHECK(refused_with([](v1::BatchHeader* facts) { facts->set_samples_allowed(std::nan("")); }));
  CHECK(refused_with([](v1::BatchHeader* facts) { facts->set_samples_allowed(-HUGE_VAL); }));
  CHECK(refused_with([](v1::BatchHeader* facts) { facts->set_table_items(uint64_t{1} << 63); }));
  header.Clear();
  header.mutable_opened();
  CHECK(refused(header, assembly.Piece(0, 10)));

  REQUIRE_OK(assembly.assembler.Add(Begin(), assembly.Piece(0, 10)));
  CHECK(refused(Begin(), assembly.Piece(0, 10)));
  CHECK(refused(Continue(9), assembly.Piece(9, 10)));
  CHECK(refused(Continue(11), assembly.Piece(11, 10)));
  CHECK(refused(Continue(10), assembly.Piece(10, total - 9)));
  CHECK(refused(Continue(10), ByteSlices()));
  const auto batch = assembly.assembler.Add(Continue(10), assembly.Piece(10, total - 10));
  REQUIRE_OK(batch);
  CHECK(batch->has_value());
}

TEST_CASE("Batches may have different sizes, and no items", "[unit]") {
  const auto layout_of = [](uint32_t items) -> absl::StatusOr<std::shared_ptr<const BatchLayout>> {
    if (items > 16) {
      return absl::InternalError("too many");
    }
    return std::make_shared<const BatchLayout>(
        items == 0 ? BatchLayout() : ValueOf(MakeBatchLayout(testing::SimpleTable("t"), items, 1 << 20)));
  };
  Assembly assembly;
  BatchAssembler assembler(layout_of, &assembly.pool);
  for (const uint32_t items : {3, 0, 16, 0, 0, 1}) {
    v1::SampleResponse header = Begin();
    header.mutable_batch()->set_items(items);
    header.mutable_batch()->set_samples_allowed(HUGE_VAL);  // Unlimited.
    const size_t bytes = ValueOf(layout_of(items))->total_bytes;
    const std::optional<SampledBatch> batch = ValueOf(assembler.Add(header, assembly.Piece(0, bytes)));
    REQUIRE(batch.has_value());
    CHECK(batch->table_items == 7);
    CHECK(batch->layout->total_bytes == bytes);
  }
  v1::SampleResponse header = Begin();
  CHECK(assembler.Add(header, assembly.Piece(0, 1)).status().code() == absl::StatusCode::kInternal);
  BatchAssembler other(layout_of, &assembly.pool);
  header.mutable_batch()->set_items(17);
  CHECK(other.Add(header, assembly.Piece(0, 1)).status().code() == absl::StatusCode::kInternal);
}

// A piece of `size` bytes, compressed, and its header.
struct Compressed {
  Compressed(const Assembly& assembly, Codec codec, size_t offset, size_t size)
      : header(offset == 0 ? Begin() : Continue(offset)) {
    const auto packed = std::make_shared<std::string>(MaxCompressedBytes(codec, size), '\0');
    packed->resize(Compress(codec, InOneRun(assembly.Piece(offset, size)).get(), size, packed->data()));
    REQUIRE(!packed->empty());
    data = ByteSlices({packed->data(), packed->size(), packed});
    header.set_compression(codec == Codec::kLz4 ? v1::ColumnCompression::CODEC_LZ4 : v1::ColumnCompression::CODEC_ZSTD);
    header.set_uncompressed_bytes(size);
    header.set_checksum(Checksum(data));
  }

  v1::SampleResponse header;
  ByteSlices data;
};

TEST_CASE("Compressed pieces and others become one batch", "[unit]") {
  Assembly assembly;
  const size_t total = assembly.layout->total_bytes;
  REQUIRE(total > 1'000);
  const Compressed first(assembly, Codec::kLz4, 0, 600);
  const Compressed last(assembly, Codec::kZstd, 610, total - 610);
  REQUIRE_OK(assembly.assembler.Add(first.header, first.data));
  REQUIRE_OK(assembly.assembler.Add(Continue(600), assembly.Piece(600, 10)));
  const std::optional<SampledBatch> batch = ValueOf(assembly.assembler.Add(last.header, last.data));
  REQUIRE(batch.has_value());
  for (size_t i = 0; i < total; ++i) {
    REQUIRE(batch->bytes.get()[i] == static_cast<char>(i % 251));
  }
}

TEST_CASE("Compressed pieces that contradict their header are refused", "[unit]") {
  const auto added = [](const auto& change) {
    Assembly assembly;
    Compressed piece(assembly, Codec::kLz4, 0, 600);
    change(&piece);
    return assembly.assembler.Add(piece.header, piece.data).status();
  };
  REQUIRE_OK(added([](Compressed* /*piece*/) {}));
  REQUIRE_CODE(added([](Compressed* piece) { piece->header.set_uncompressed_bytes(601); }),
               absl::StatusCode::kDataLoss);
  REQUIRE_CODE(added([](Compressed* piece) { piece->header.set_uncompressed_bytes(599); }),
               absl::StatusCode::kDataLoss);
  REQUIRE_CODE(added([](Compressed* piece) { piece->header.set_checksum(1); }), absl::StatusCode::kDataLoss);
  REQUIRE_CODE(added([](Compressed* piece) { piece->header.set_uncompressed_bytes(0); }), absl::StatusCode::kInternal);
  REQUIRE_CODE(added([](Compressed* piece) { piece->header.set_uncompressed_bytes(uint64_t{1} << 63); }),
               absl::StatusCode::kInternal);
  REQUIRE_CODE(added([](Compressed* piece) { piece->header.set_compression(v1::ColumnCompression::Codec(17)); }),
               absl::StatusCode::kInternal);
  REQUIRE_CODE(added([](Compressed* piece) {
                 piece->data = piece->data.Part(0, piece->data.size() / 2);
                 piece->header.clear_checksum();
               }),
               absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace waggle
