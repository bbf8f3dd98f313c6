#include "param_server/pool/quotas.h"

#include <fstream>

#include "tests/param_server/pool/pool_fixture.h"
#include "tests/support/temporary_folder.h"

namespace waggle {
namespace {

using testing::Actors;
using testing::TemporaryFolder;
using testing::ValueOf;

absl::StatusOr<Quotas> Load(const std::string& text) {
  const TemporaryFolder folder;
  std::ofstream(folder.File("quotas.yaml")) << text;
  return LoadQuotas(folder.File("quotas.yaml"));
}

RunNeeds Of(const std::string& owner, const std::vector<std::string>& tags, int64_t learners, int64_t actors) {
  RunNeeds needs = testing::Needs("x", {Actors(actors, actors)});
  SeatGroup group{Role::kLearner, WorkerKind::kLearner, learners, learners};
  needs.groups.push_back(group);
  needs.owner = owner;
  needs.tags = tags;
  return needs;
}

TEST_CASE("quotas are read from a file; values that an owner lacks are those of the default", "[unit]") {
  const Quotas quotas =
      ValueOf(Load("default: {experiments: 4, learners: 3}\n"
                   "owners:\n  ada: {learners: 8, weight: 2}\n"
                   "tags:\n  gpu: {actors: 9}\n"));
  CHECK(quotas.of_each.quota.experiments == 4);
  CHECK(quotas.of_each.quota.actors == std::nullopt);
  CHECK(quotas.owners.at("ada").quota.experiments == 4);
  CHECK(quotas.owners.at("ada").quota.learners == 8);
  CHECK(quotas.WeightOf("ada") == 2);
  CHECK(quotas.WeightOf("bob") == 1);
  CHECK(quotas.tags.at("gpu").actors == 9);
  CHECK(ValueOf(Load("{}")).owners.empty());
}

TEST_CASE("a wrong file of quotas is refused with the key, and a missing one with its name", "[unit]") {
  for (const auto& [text, key] :
       {std::pair("", "mapping"), std::pair("default: {experiment: 4}", "default"),
        std::pair("owners: {ada: {learners: -1}}", "owners.ada.learners"),
        std::pair("owners: {ada: {weight: 0}}", "owners.ada.weight"), std::pair("tags: {gpu: {weight: 2}}", "tags.gpu"),
        std::pair("user: {ada: {}}", "user")}) {
    INFO(text);
    const absl::Status refused = Load(text).status();
    REQUIRE_CODE(refused, absl::StatusCode::kInvalidArgument);
    CHECK_THAT(std::string(refused.message()), Catch::Contains(key) && Catch::Contains("quotas.yaml"));
  }
  CHECK_THAT(std::string(LoadQuotas("/none/quotas.yaml").status().message()), Catch::Contains("/none/quotas.yaml"));
}

TEST_CASE("an experiment waits while its owner's quota or a tag's is used up", "[unit]") {
  const Quotas quotas = ValueOf(Load("default: {experiments: 2, actors: 5}\ntags: {gpu: {learners: 3}}\n"));
  QuotaBook book(&quotas);
  CHECK(book.Hindrance(Of("ada", {"gpu"}, 2, 2)).empty());
  book.Add(Of("ada", {"gpu"}, 2, 2));
  CHECK(book.Hindrance(Of("ada", {}, 9, 3)).empty());
  CHECK_THAT(book.Hindrance(Of("ada", {}, 1, 4)), Catch::Contains("owner ada") && Catch::Contains("5 actors"));
  CHECK_THAT(book.Hindrance(Of("bob", {"gpu"}, 2, 1)), Catch::Contains("tag gpu") && Catch::Contains("3 learners"));
  CHECK(book.Hindrance(Of("bob", {"gpu"}, 1, 1)).empty());
  book.Add(Of("ada", {}, 1, 1));
  CHECK_THAT(book.Hindrance(Of("ada", {}, 1, 1)), Catch::Contains("2 running experiments"));
  CHECK(book.Hindrance(Of("bob", {}, 1, 1)).empty());
}

TEST_CASE("an experiment that needs more than a quota allows can never run, and the setting is named", "[unit]") {
  const Quotas quotas = ValueOf(Load("default: {learners: 1, actors: 5}\nowners: {none: {experiments: 0}}\n"));
  const QuotaBook book(&quotas);
  CHECK(book.Impossible(Of("ada", {}, 1, 5)).empty());
  const std::vector<std::string> both = book.Impossible(Of("ada", {}, 2, 6));
  REQUIRE(both.size() == 2);
  CHECK_THAT(both[0], Catch::StartsWith("learner.processes: "));
  CHECK_THAT(both[1], Catch::StartsWith("actor.processes: "));
  CHECK(book.Impossible(Of("none", {}, 1, 1)).size() == 1);
}

TEST_CASE("the most actors of an experiment are what the others leave of the smallest quota", "[unit]") {
  const Quotas quotas = ValueOf(Load("default: {actors: 10}\ntags: {gpu: {actors: 6}}\n"));
  QuotaBook book(&quotas);
  CHECK(book.MostActors(Of("ada", {}, 1, 1)) == 10);
  CHECK(book.MostActors(Of("ada", {"gpu"}, 1, 1)) == 6);
  book.Add(Of("ada", {"gpu"}, 1, 1), /*actors=*/5);
  CHECK(book.MostActors(Of("ada", {}, 1, 1)) == 5);
  CHECK(book.MostActors(Of("bob", {"gpu"}, 1, 1)) == 1);
  CHECK(ValueOf(Load("default: {learners: 1}")).BoundActors(Of("ada", {}, 1, 1)) == false);
}

}  // namespace
}  // namespace waggle
