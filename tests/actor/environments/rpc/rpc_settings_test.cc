#include "actor/environments/rpc/rpc_settings.h"

#include <string>

#include "tests/support/catch.h"

namespace waggle {
namespace {

using testing::ValueOf;

TEST_CASE("Settings of a file become tensors, and tensors become the same settings", "[unit]") {
  const std::string json = R"({"level":"maze","size":7,"speed":0.5,"walls":true,"start":[[1,2,3],[4,5,6]],)"
                           R"("names":["a","b"],"sun":{"angle":[0.25,1.0],"on":false}})";
  const RpcSettings settings = ValueOf(SettingsFromJson(json, "world"));
  CHECK(settings.size() == 8);
  CHECK(settings.at("level").strings().array(0) == "maze");
  CHECK(settings.at("size").int64s().array(0) == 7);
  CHECK(settings.at("size").shape_size() == 0);
  CHECK(settings.at("speed").doubles().array(0) == 0.5);
  CHECK(settings.at("walls").bools().array(0));
  CHECK(settings.at("start").int64s().array(4) == 5);
  CHECK(settings.at("start").shape(1) == 3);
  CHECK(settings.at("sun.angle").doubles().array_size() == 2);
  const RpcSettings again = ValueOf(SettingsFromJson(ValueOf(SettingsToJson(settings)), "world"));
  REQUIRE(again.size() == settings.size());
  for (const auto& [name, tensor] : settings) {
    CHECK(again.at(name).SerializeAsString() == tensor.SerializeAsString());
  }
}

TEST_CASE("A value that cannot be a setting is refused with its path", "[unit]") {
  for (const char* const value :
       {"null", "[]", "[1, [2]]", "[[1, 2], [3]]", "[1, \"a\"]", "[true, 1]", "[{}]", "18446744073709551615"}) {
    const auto refused = SettingsFromJson(std::string(R"({"sun": {"angle": )") + value + "}}", "world");
    REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(refused.status().message()), Catch::StartsWith("world.sun.angle: "));
  }
  CHECK_FALSE(SettingsFromJson("[]", "world").ok());
  CHECK_FALSE(SettingsFromJson("{", "world").ok());
}

RpcSettings One(const std::string& name, const dm::Tensor& tensor) {
  RpcSettings settings;
  settings[name] = tensor;
  return settings;
}

TEST_CASE("A client's tensor that is not a valid setting is refused before memory is taken", "[unit]") {
  dm::Tensor tensor;
  tensor.mutable_int64s()->add_array(1);
  for (const auto& shape : {std::vector<int32_t>{2147483647, 2147483647},
                            {-1, -1},
                            {20'000},
                            {10'000, 0},
                            {0},
                            {1, 1, 1, 1, 1, 1, 1, 1, 1}}) {
    *tensor.mutable_shape() = {shape.begin(), shape.end()};
    CHECK_FALSE(SettingsToJson(One("a", tensor)).ok());
  }
  dm::Tensor empty;
  empty.mutable_int64s();
  for (const auto& shape : {std::vector<int32_t>{}, {0}, {-1}, {10'000, -1}}) {
    *empty.mutable_shape() = {shape.begin(), shape.end()};
    CHECK_FALSE(SettingsToJson(One("a", empty)).ok());
  }
  tensor.clear_shape();
  tensor.mutable_int64s()->add_array(2);
  CHECK_FALSE(SettingsToJson(One("a", tensor)).ok());
  CHECK_FALSE(SettingsToJson(One("a", dm::Tensor())).ok());
  tensor.mutable_uint64s()->add_array(uint64_t{1} << 63);
  CHECK_FALSE(SettingsToJson(One("a", tensor)).ok());
  tensor.mutable_protos()->add_array();
  CHECK_FALSE(SettingsToJson(One("a", tensor)).ok());
  tensor.mutable_bools()->add_array(true);
  CHECK_FALSE(SettingsToJson(One("a.b.c.d.e.f.g.h.i", tensor)).ok());
  RpcSettings both = One("a", tensor);
  both["a.b"] = tensor;
  CHECK_FALSE(SettingsToJson(both).ok());
  // Together they have too many elements.
  RpcSettings many;
  tensor.add_shape(9'000);
  many["a"] = many["b"] = tensor;
  CHECK_FALSE(SettingsToJson(many).ok());
  many.erase("b");
  CHECK(SettingsToJson(many).ok());
}

TEST_CASE("An integer is taken out of the settings", "[unit]") {
  RpcSettings settings = ValueOf(SettingsFromJson(R"({"lanes": 16, "name": "x", "share": 0.5})", "join"));
  CHECK(ValueOf(TakeInteger("lanes", 1, 16, &settings)) == 16);
  CHECK(ValueOf(TakeInteger("lanes", 1, 16, &settings)) == std::nullopt);
  CHECK(settings.size() == 2);
  CHECK_FALSE(TakeInteger("name", 1, 16, &settings).ok());
  CHECK_FALSE(TakeInteger("share", 0, 16, &settings).ok());
  settings = ValueOf(SettingsFromJson(R"({"lanes": 17})", "join"));
  CHECK_FALSE(TakeInteger("lanes", 1, 16, &settings).ok());
  settings = ValueOf(SettingsFromJson(R"({"lanes": [4]})", "join"));
  CHECK_FALSE(TakeInteger("lanes", 1, 16, &settings).ok());
}

}  // namespace
}  // namespace waggle
