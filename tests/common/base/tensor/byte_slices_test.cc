#include "common/base/tensor/byte_slices.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tests/support/catch.h"
#include "tests/support/slices.h"

namespace waggle {
namespace {

ByteSlice SliceOf(std::string text) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  return {owner->data(), owner->size(), owner};
}

TEST_CASE("slices follow one another", "[unit]") {
  ByteSlices slices(SliceOf("one "));
  slices.Append(SliceOf(""));
  slices.Append(ByteSlice());
  slices.Append(SliceOf("two"));
  CHECK(slices.size() == 7);
  CHECK(slices.slices().size() == 4);
  CHECK(testing::BytesOf(slices) == "one two");
}

TEST_CASE("copies share the bytes, which live as long as one of them", "[unit]") {
  auto owner = std::make_shared<const std::string>("bytes");
  const std::weak_ptr<const std::string> owned = owner;
  ByteSlices copy;
  {
    const ByteSlices slices({owner->data(), owner->size(), owner});
    copy = slices;
    CHECK(copy.slices()[0].data == owner->data());
  }
  owner.reset();
  CHECK(testing::BytesOf(copy) == "bytes");
  copy = ByteSlices();
  CHECK(owned.expired());
}

TEST_CASE("a part shares the slices that it lies in", "[unit]") {
  ByteSlices slices;
  for (const char* text : {"abc", "", "defg", "h"}) {
    slices.Append(SliceOf(text));
  }
  for (size_t offset = 0; offset <= slices.size(); ++offset) {
    for (size_t size = 0; offset + size <= slices.size(); ++size) {
      const ByteSlices part = slices.Part(offset, size);
      CAPTURE(offset, size);
      REQUIRE(part.size() == size);
      REQUIRE(testing::BytesOf(part) == testing::BytesOf(slices).substr(offset, size));
    }
  }
  const ByteSlices part = slices.Part(4, 2);
  REQUIRE(part.slices().size() == 1);
  REQUIRE(part.slices()[0].data == slices.slices()[2].data + 1);
  REQUIRE(part.slices()[0].owner == slices.slices()[2].owner);
}

TEST_CASE("a block of bytes is aligned and can be written to its end", "[unit]") {
  for (const size_t size : {0, 1, 63, 64, 1000000}) {
    const std::shared_ptr<char> bytes = AllocateBytes(size);
    REQUIRE(bytes != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(bytes.get()) % 64 == 0);
    std::fill_n(bytes.get(), size, 'x');
  }
}

}  // namespace
}  // namespace waggle
