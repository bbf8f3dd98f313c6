#include "common/base/tensor/checksum.h"

#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("A checksum is XXH3-64, however the bytes are cut", "[unit]") {
  CHECK(Checksum(nullptr, 0) == 0x2d06800538d394c2);  // Published for no bytes and no seed.
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) {
    bytes.push_back(static_cast<char>(i * 13 + i / 251));
  }
  const uint64_t whole = Checksum(bytes.data(), bytes.size());
  CHECK(whole == 0xff8bbf267d355906);  // For any of the library's functions, which depend on the processor.
  CHECK(Checksum(ByteSlices({bytes.data(), bytes.size(), nullptr})) == whole);
  ByteSlices cut;
  Checksummer checksummer;
  for (size_t first = 0; first < bytes.size(); first += 777) {
    const size_t size = std::min<size_t>(777, bytes.size() - first);
    cut.Append({bytes.data() + first, size, nullptr});
    checksummer.Update(bytes.data() + first, size);
  }
  CHECK(Checksum(cut) == whole);
  CHECK(checksummer.Digest() == whole);
  bytes[50'000] ^= 1;
  CHECK(Checksum(bytes.data(), bytes.size()) != whole);
}

}  // namespace
}  // namespace waggle
