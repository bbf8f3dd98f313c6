#include "common/base/block_maxima.h"

#include <algorithm>
#include <vector>

#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {

TEST_CASE("the largest of values that come, change and go is always known", "[unit]") {
  Rng rng(1);
  std::vector<double> values(300, BlockMaxima::kNone);
  BlockMaxima maxima;
  const auto value = [&values](size_t i) { return i < values.size() ? values[i] : BlockMaxima::kNone; };
  for (int step = 0; step < 20000; ++step) {
    const size_t i = rng.UniformInt(values.size());
    const double now = rng.UniformInt(4) == 0 ? BlockMaxima::kNone : static_cast<double>(rng.UniformInt(20));
    if (maxima.started()) {
      maxima.Change(i, values[i], now);
    }
    values[i] = now;
    if (step == 100) {
      maxima.Start(values.size());
    }
    if (maxima.started() && rng.UniformInt(3) == 0) {
      REQUIRE(maxima.Largest(value) == *std::max_element(values.begin(), values.end()));
    }
  }
  std::fill(values.begin(), values.end(), BlockMaxima::kNone);
  maxima.Start(0);
  REQUIRE(maxima.Largest(value) == BlockMaxima::kNone);
  maxima.Change(250, BlockMaxima::kNone, 3);
  values[250] = 3;
  REQUIRE(maxima.Largest(value) == 3);
}

}  // namespace waggle
