#include "common/net/raw_codec.h"

#include <grpcpp/support/slice.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "tests/support/catch.h"
#include "waggle/v1/replay.pb.h"

namespace waggle {
namespace {

std::string Flatten(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  REQUIRE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

std::string Flatten(const ByteSlices& data) {
  std::string bytes(data.size(), '\0');
  data.CopyTo(bytes.data());
  return bytes;
}

// Cuts the bytes into slices of random sizes, empty ones among them.
grpc::ByteBuffer Fragment(const std::string& bytes, Rng* rng, uint64_t max_size) {
  std::vector<grpc::Slice> slices;
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t size = std::min<size_t>(rng->UniformInt(max_size + 1), bytes.size() - at);
    slices.emplace_back(bytes.data() + at, size);
    at += size;
  }
  slices.emplace_back(nullptr, 0);
  return grpc::ByteBuffer(slices.data(), slices.size());
}

ByteSlices Slices(const std::string& bytes, size_t piece) {
  ByteSlices data;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const auto owner = std::make_shared<std::string>(bytes.substr(at, piece));
    data.Append({owner->data(), owner->size(), owner});
  }
  return data;
}

v1::InsertRequest ExampleHeader() {
  v1::InsertRequest header;
  v1::InsertBlock* block = header.mutable_block();
  block->set_sequence(7);
  for (int i = 0; i < 40; ++i) {
    block->add_item_stream(i);
    block->add_item_first_row(1'000'000'007ULL * i);
    block->add_item_priority(0.25 * i);
  }
  return header;
}

std::string RandomBytes(size_t size, Rng* rng) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(rng->Next());
  }
  return bytes;
}

absl::Status Decode(const std::string& bytes, v1::InsertRequest* header, ByteSlices* data) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return DecodeMessage(grpc::ByteBuffer(&slice, 1), kMaxHeaderBytes, header, data);
}

TEST_CASE("EncodeMessage writes the bytes that protobuf writes", "[unit]") {
  Rng rng(1);
  for (const size_t size : {size_t{0}, size_t{1}, size_t{127}, size_t{128}, size_t{100'000}}) {
    const std::string payload = RandomBytes(size, &rng);
    v1::InsertRequest whole = ExampleHeader();
    whole.set_data(payload);
    const std::string encoded = Flatten(EncodeMessage(ExampleHeader(), Slices(payload, 1000)));
    CHECK((encoded == whole.SerializeAsString()));
    v1::InsertRequest parsed;
    REQUIRE(parsed.ParseFromString(encoded));
    CHECK((parsed.data() == payload));
  }
}

TEST_CASE("An empty message is encoded and decoded", "[unit]") {
  const grpc::ByteBuffer buffer = EncodeMessage(v1::InsertRequest(), ByteSlices());
  v1::InsertRequest header;
  ByteSlices data;
  REQUIRE_OK(DecodeMessage(buffer, kMaxHeaderBytes, &header, &data));
  CHECK(header.kind_case() == v1::InsertRequest::KIND_NOT_SET);
  CHECK(data.size() == 0);
}

TEST_CASE("EncodeMessage shares the data's bytes until the buffer is destroyed", "[unit]") {
  const auto owner = std::make_shared<std::string>(100'000, 'x');
  {
    const grpc::ByteBuffer buffer =
        EncodeMessage(v1::InsertRequest(), ByteSlices({owner->data(), owner->size(), owner}));
    std::vector<grpc::Slice> slices;
    REQUIRE(buffer.Dump(&slices).ok());
    CHECK(std::any_of(slices.begin(), slices.end(), [&owner](const grpc::Slice& slice) {
      return reinterpret_cast<const char*>(slice.begin()) == owner->data();
    }));
    CHECK(owner.use_count() > 1);
  }
  CHECK(owner.use_count() == 1);
}

TEST_CASE("DecodeMessage reads the bytes of protobuf, in slices of any size", "[unit]") {
  Rng rng(2);
  for (int round = 0; round < 300; ++round) {
    const std::string payload = RandomBytes(rng.UniformInt(3'000), &rng);
    v1::InsertRequest whole = ExampleHeader();
    whole.set_data(payload);
    const grpc::ByteBuffer buffer = Fragment(whole.SerializeAsString(), &rng, 1 + rng.UniformInt(200));
    v1::InsertRequest header;
    ByteSlices data;
    REQUIRE_OK(DecodeMessage(buffer, kMaxHeaderBytes, &header, &data));
    REQUIRE((Flatten(data) == payload));
    REQUIRE((header.SerializeAsString() == ExampleHeader().SerializeAsString()));
  }
}

TEST_CASE("Decoded data outlives its buffer and is not copied", "[unit]") {
  ByteSlices data;
  const std::string payload(50'000, 'q');
  {
    const auto owner = std::make_shared<std::string>(payload);
    const grpc::ByteBuffer buffer =
        EncodeMessage(v1::InsertRequest(), ByteSlices({owner->data(), owner->size(), owner}));
    v1::InsertRequest header;
    REQUIRE_OK(DecodeMessage(buffer, kMaxHeaderBytes, &header, &data));
    CHECK(data.slices().front().data == owner->data());
  }
  CHECK((Flatten(data) == payload));
}

TEST_CASE("Data may come before the other fields, and the last of several counts", "[unit]") {
  v1::InsertRequest first;
  first.set_data("first");
  v1::InsertRequest second;
  second.set_data("second");
  const std::string bytes =
      first.SerializeAsString() + ExampleHeader().SerializeAsString() + second.SerializeAsString();
  v1::InsertRequest header;
  ByteSlices data;
  REQUIRE_OK(Decode(bytes, &header, &data));
  CHECK(Flatten(data) == "second");
  v1::InsertRequest reference;
  REQUIRE(reference.ParseFromString(bytes));
  CHECK(reference.data() == "second");
  CHECK(header.block().sequence() == 7);
}

TEST_CASE("Unknown fields of every wire type are skipped", "[unit]") {
  std::string bytes = ExampleHeader().SerializeAsString();
  bytes += std::string("\xA0\x06\x05", 3);                       // Field 100, varint 5.
  bytes += std::string("\xA1\x06", 2) + std::string(8, 'a');     // Field 100, 64 bits.
  bytes += std::string("\xA2\x06\x03", 3) + std::string("abc");  // Field 100, three bytes.
  bytes += std::string("\xA5\x06", 2) + std::string(4, 'b');     // Field 100, 32 bits.
  v1::InsertRequest header;
  ByteSlices data;
  REQUIRE_OK(Decode(bytes, &header, &data));
  CHECK(header.block().sequence() == 7);
}

TEST_CASE("Groups and wire types that do not exist are refused", "[unit]") {
  for (const char tag : {'\x0B', '\x0C', '\x0E', '\x0F'}) {
    v1::InsertRequest header;
    ByteSlices data;
    REQUIRE_CODE(Decode(std::string(1, tag), &header, &data), absl::StatusCode::kInvalidArgument);
  }
}

TEST_CASE("A message cut off anywhere is refused unless protobuf would take it too", "[unit]") {
  v1::InsertRequest whole = ExampleHeader();
  whole.set_data(std::string(300, 'd'));
  const std::string bytes = whole.SerializeAsString();
  for (size_t size = 0; size < bytes.size(); ++size) {
    v1::InsertRequest header;
    ByteSlices data;
    const std::string cut = bytes.substr(0, size);
    const absl::Status status = Decode(cut, &header, &data);
    v1::InsertRequest reference;
    REQUIRE(status.ok() == reference.ParseFromString(cut));
    if (!status.ok()) {
      REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    }
  }
}

TEST_CASE("Random and damaged bytes are decoded as protobuf does, or refused", "[unit]") {
  Rng rng(3);
  v1::InsertRequest whole = ExampleHeader();
  whole.set_data(RandomBytes(200, &rng));
  const std::string valid = whole.SerializeAsString();
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes;
    if (round % 2 == 0) {
      bytes = RandomBytes(rng.UniformInt(64), &rng);
    } else {
      bytes = valid;
      for (uint64_t i = 0; i <= rng.UniformInt(4); ++i) {
        bytes[rng.UniformInt(bytes.size())] = static_cast<char>(rng.Next());
      }
    }
    v1::InsertRequest header;
    ByteSlices data;
    const absl::Status status = DecodeMessage(Fragment(bytes, &rng, 16), kMaxHeaderBytes, &header, &data);
    v1::InsertRequest reference;
    if (status.ok()) {
      // We refuse groups, which protobuf skips; apart from that the two agree.
      ++accepted;
      REQUIRE(reference.ParseFromString(bytes));
      REQUIRE((reference.data() == Flatten(data)));
      reference.clear_data();
      REQUIRE((reference.SerializeAsString() == header.SerializeAsString()));
    } else {
      REQUIRE_CODE(status, absl::StatusCode::kInvalidArgument);
    }
  }
  CHECK(accepted > 100);
}

TEST_CASE("Declared sizes beyond the message are refused", "[unit]") {
  for (const std::string& size :
       {std::string("\xFF\xFF\xFF\xFF\x0F"), std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")}) {
    v1::InsertRequest header;
    ByteSlices data;
    REQUIRE_CODE(Decode("\x7A" + size + "abc", &header, &data), absl::StatusCode::kInvalidArgument);
    REQUIRE_CODE(Decode("\x0A" + size + "abc", &header, &data), absl::StatusCode::kInvalidArgument);
  }
  v1::InsertRequest header;
  ByteSlices data;
  REQUIRE_CODE(Decode(std::string(11, '\xFF'), &header, &data), absl::StatusCode::kInvalidArgument);
}

TEST_CASE("A header above its limit is refused for any fields", "[unit]") {
  v1::InsertRequest header;
  ByteSlices data;
  v1::InsertRequest large;
  large.mutable_open()->set_writer_id(std::string(2'000, 'w'));
  const std::string one_field = large.SerializeAsString();
  const grpc::Slice field(one_field.data(), one_field.size());
  REQUIRE_CODE(DecodeMessage(grpc::ByteBuffer(&field, 1), 1'000, &header, &data), absl::StatusCode::kResourceExhausted);
  std::string many_fields;
  for (int i = 0; i < 1'000; ++i) {
    many_fields += std::string("\xA0\x06\x05", 3);
  }
  const grpc::Slice fields(many_fields.data(), many_fields.size());
  REQUIRE_CODE(DecodeMessage(grpc::ByteBuffer(&fields, 1), 1'000, &header, &data),
               absl::StatusCode::kResourceExhausted);
  // Data does not count.
  const grpc::ByteBuffer bulk = EncodeMessage(v1::InsertRequest(), Slices(std::string(100'000, 'd'), 10'000));
  REQUIRE_OK(DecodeMessage(bulk, 1'000, &header, &data));
  CHECK(data.size() == 100'000);
}

}  // namespace
}  // namespace waggle
