#include "common/base/metrics/crc32c.h"

#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

// The vectors of RFC 3720, appendix B.4, and the check value of the CRC catalogue.
TEST_CASE("CRC-32C has its published values", "[unit]") {
  CHECK(Crc32c("") == 0);
  CHECK(Crc32c("123456789") == 0xE3069283);
  CHECK(Crc32c(std::string(32, '\0')) == 0x8A9136AA);
  CHECK(Crc32c(std::string(32, '\xff')) == 0x62A8AB43);
  std::string ascending;
  for (char c = 0; c < 32; ++c) {
    ascending.push_back(c);
  }
  CHECK(Crc32c(ascending) == 0x46DD794E);
  CHECK(Crc32c(std::string(ascending.rbegin(), ascending.rend())) == 0x113FDB5C);
}

TEST_CASE("the masked form is the checksum turned by 15 bits plus a constant", "[unit]") {
  CHECK(MaskedCrc32c("") == 0xA282EAD8);
  // 0xE3069283 turned right by 15 is 0x2507C60D.
  CHECK(MaskedCrc32c("123456789") == 0x2507C60DU + 0xA282EAD8U);
}

}  // namespace
}  // namespace waggle
