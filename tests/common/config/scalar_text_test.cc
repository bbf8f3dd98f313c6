#include "common/config/scalar_text.h"

#include <cstdlib>
#include <limits>
#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

TEST_CASE("Unquoted scalars are classified by YAML 1.2's core schema", "[unit]") {
  for (const char* text : {"", "~", "null", "Null", "NULL"}) {
    CHECK(ClassifyScalar(text) == ScalarType::kNull);
  }
  for (const char* text : {"true", "False", "TRUE"}) {
    CHECK(ClassifyScalar(text) == ScalarType::kBool);
  }
  for (const char* text : {"0", "-3", "+12", "9223372036854775808"}) {
    CHECK(ClassifyScalar(text) == ScalarType::kInteger);
  }
  for (const char* text : {"3.7", ".5", "5.", "-1e-3", "1E+6", ".inf", "-.INF", ".nan"}) {
    CHECK(ClassifyScalar(text) == ScalarType::kReal);
  }
  for (const char* text : {"yes", "no", "on", "cpu", "cuda:1", "0x10", "010", "1_000", ".", "-", "1e", "e5", "inf",
                           "nan", "1.2.3", "12 3", "+"}) {
    INFO(text);
    CHECK(ClassifyScalar(text) == ScalarType::kText);
  }
}

TEST_CASE("A number's text reads back as exactly that number", "[unit]") {
  using Limits = std::numeric_limits<double>;
  for (const double value : {0.0, -0.0, 1.0, 0.1, 1e-3, 2.5e-4, 1.0 / 3, 100000.0, 1e15, 1e22, 123456789.123456789,
                             Limits::max(), Limits::min(), Limits::denorm_min(), Limits::epsilon()}) {
    const std::string text = NumberText(value);
    INFO(text);
    CHECK(std::strtod(text.c_str(), nullptr) == value);
    const ScalarType type = ClassifyScalar(text);
    CHECK((type == ScalarType::kInteger || type == ScalarType::kReal));
  }
  CHECK(NumberText(0.1) == "0.1");
  CHECK(NumberText(100000) == "100000");
  CHECK(NumberText(Limits::infinity()) == ".inf");
  CHECK(NumberText(-Limits::infinity()) == "-.inf");
  CHECK(NumberText(Limits::quiet_NaN()) == ".nan");
}

TEST_CASE("Text is quoted if it would read back as something else", "[unit]") {
  CHECK(TextScalar("CartPole-v1") == "CartPole-v1");
  CHECK(TextScalar("") == "\"\"");
  CHECK(TextScalar("true") == "\"true\"");
  CHECK(TextScalar("yes") == "\"yes\"");
  CHECK(TextScalar("null") == "\"null\"");
  CHECK(TextScalar("3") == "\"3\"");
  CHECK(TextScalar("a: b") == "\"a: b\"");
  CHECK(TextScalar("say \"\\\"\n") == "\"say \\\"\\\\\\\"\\x0a\"");
}

}  // namespace
}  // namespace waggle
