#include "common/net/security/access_list.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "common/base/file.h"
#include "common/net/security/access_file.h"
#include "tests/support/catch.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::ValueOf;

absl::StatusOr<AccessList> ListOf(const std::string& text) {
  const testing::TemporaryFolder folder;
  REQUIRE_OK(WriteFileAtomically(folder.File("access.yaml"), text));
  return LoadAccessList(folder.File("access.yaml"));
}

TEST_CASE("A token's hash is SHA-256", "[unit]") {
  CHECK(TokenHash("abc") == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2.
}

TEST_CASE("A caller is known by each of its tokens, so that one can replace the other", "[unit]") {
  const AccessList list =
      ValueOf(ListOf(absl::StrCat("callers:\n  ann:\n    roles: [submitter, reader]\n    tokens: [\"", TokenHash("old"),
                                  "\", \"", TokenHash("new"), "\"]\n")));
  for (const char* const token : {"old", "new"}) {
    const std::optional<Caller> caller = list.ByToken(token);
    REQUIRE(caller.has_value());
    CHECK(caller->name == "ann");
    CHECK(caller->roles.DebugString() == "reader, submitter");
  }
  for (const std::string& token : {std::string("other"), std::string(), TokenHash("old"), std::string(1 << 20, 'x')}) {
    CHECK_FALSE(list.ByToken(token).has_value());
  }
}

TEST_CASE("Names of certificates have the roles of their callers, and ROLE.waggle has that role", "[unit]") {
  const AccessList list = ValueOf(ListOf("callers:\n  eval: {roles: [reader], certificates: [eval.example]}\n"));
  CHECK(list.ByCertificate({"eval.example"})->name == "eval");
  CHECK(list.ByCertificate({"worker.waggle", "eval.example"})->name == "eval");
  CHECK(list.ByCertificate({"worker.waggle", "eval.example"})->roles.DebugString() == "reader, worker");
  CHECK(AccessList().ByCertificate({"server.waggle", "admin.waggle"})->roles.Has(AccessRole::kAdmin));
  for (const char* const name : {"server.waggle", "worker", "worker.waggle.example", "x.worker.waggle", ""}) {
    CHECK_FALSE(list.ByCertificate({name}).has_value());
  }
}

TEST_CASE("Wrong files of callers are refused, and the error names the key", "[unit]") {
  const std::string hash = TokenHash("a");
  const std::pair<std::string, std::string> cases[] = {
      {"callers: {ann: {roles: [root], tokens: [\"" + hash + "\"]}}", "callers.ann.roles"},
      {"callers: {ann: {tokens: [\"" + hash + "\"]}}", "roles"},
      {"callers: {ann: {roles: [reader]}}", "tokens"},
      {"callers: {ann: {roles: [reader], tokens: [secret]}}", "callers.ann.tokens"},
      {"callers: {ann: {roles: [reader], token: [secret]}}", "callers.ann.token"},
      {"callers: {ann: {roles: [reader], tokens: [\"" + hash + "\"]}, bob: {roles: [admin], tokens: [\"" + hash +
           "\"]}}",
       "callers.bob"},
      {"caller: {}", "caller"},
  };
  for (const auto& [text, key] : cases) {
    INFO(text);
    const absl::StatusOr<AccessList> list = ListOf(text);
    REQUIRE_CODE(list, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(list.status().message()), Catch::Contains(key));
    CHECK_THAT(std::string(list.status().message()), !Catch::Contains("secret\""));
  }
}

TEST_CASE("A token is the first line of a file that others cannot read", "[unit]") {
  const testing::TemporaryFolder folder;
  const std::string file = folder.File("token");
  REQUIRE_OK(WriteFileAtomically(file, " secret \nmore\n"));
  REQUIRE(chmod(file.c_str(), 0600) == 0);
  CHECK(ValueOf(ReadToken(file)) == "secret");
  REQUIRE(chmod(file.c_str(), 0644) == 0);
  REQUIRE_CODE(ReadToken(file), absl::StatusCode::kFailedPrecondition);
  REQUIRE_OK(WriteFileAtomically(file, "\n"));
  REQUIRE(chmod(file.c_str(), 0600) == 0);
  REQUIRE_CODE(ReadToken(file), absl::StatusCode::kFailedPrecondition);
  REQUIRE_CODE(ReadToken(folder.File("none")), absl::StatusCode::kNotFound);
  CHECK(ValueOf(NewToken()) != ValueOf(NewToken()));
  CHECK(ValueOf(NewToken()).size() >= 43);
}

}  // namespace
}  // namespace waggle
