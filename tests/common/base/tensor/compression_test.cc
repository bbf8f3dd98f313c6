#include "common/base/tensor/compression.h"

#include <string>
#include <vector>

#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

std::string Compressed(Codec codec, const std::string& bytes) {
  std::string out(MaxCompressedBytes(codec, bytes.size()), '\0');
  out.resize(Compress(codec, bytes.data(), bytes.size(), out.data()));
  return out;
}

absl::Status Back(Codec codec, const std::string& compressed, std::string* bytes) {
  return Decompress(codec, compressed.data(), compressed.size(), bytes->data(), bytes->size());
}

std::string Compressible(size_t size, Rng* rng) {
  std::string bytes(size, 'x');
  for (size_t i = 0; i < size; i += 50) {
    bytes[i] = static_cast<char>(rng->Next());
  }
  return bytes;
}

}  // namespace

TEST_CASE("compressed bytes survive the round trip", "[unit]") {
  Rng rng(1);
  for (const Codec codec : {Codec::kLz4, Codec::kZstd}) {
    for (const size_t size : {size_t{200}, size_t{5000}, size_t{3'000'000}}) {
      const std::string bytes = Compressible(size, &rng);
      const std::string compressed = Compressed(codec, bytes);
      REQUIRE(compressed.size() > 0);
      REQUIRE(compressed.size() < bytes.size());
      std::string back(size, '\0');
      REQUIRE_OK(Back(codec, compressed, &back));
      REQUIRE(back == bytes);
      // A wrong size.
      for (const size_t wrong : {size - 1, size + 1}) {
        std::string other(wrong, '\0');
        REQUIRE_CODE(Back(codec, compressed, &other), absl::StatusCode::kDataLoss);
      }
    }
  }
}

TEST_CASE("data that does not get smaller is not compressed", "[unit]") {
  Rng rng(2);
  for (const Codec codec : {Codec::kLz4, Codec::kZstd}) {
    std::string noise(5000, '\0');
    for (char& byte : noise) {
      byte = static_cast<char>(rng.Next());
    }
    REQUIRE(Compressed(codec, noise).empty());
    REQUIRE(Compressed(codec, "a").empty());
    REQUIRE(Compressed(codec, "").empty());
  }
}

TEST_CASE("damaged data is an error or other bytes, and never read or written past its end", "[unit]") {
  Rng rng(3);
  for (const Codec codec : {Codec::kLz4, Codec::kZstd}) {
    const std::string bytes = Compressible(3000, &rng);
    const std::string compressed = Compressed(codec, bytes);
    int errors = 0;
    for (int round = 0; round < 2000; ++round) {
      std::string damaged = compressed;
      damaged[rng.UniformInt(damaged.size())] = static_cast<char>(rng.Next());
      damaged.resize(rng.UniformInt(2) == 0 ? damaged.size() : rng.UniformInt(damaged.size()));
      // Exactly as much memory as data, so that a sanitizer sees reads past it.
      const std::vector<char> source(damaged.begin(), damaged.end());
      std::vector<char> destination(3000);
      const absl::Status status =
          Decompress(codec, source.data(), source.size(), destination.data(), destination.size());
      errors += status.ok() ? 0 : 1;
      REQUIRE((status.ok() || status.code() == absl::StatusCode::kDataLoss));
    }
    REQUIRE(errors > 900);
  }
}

}  // namespace waggle
