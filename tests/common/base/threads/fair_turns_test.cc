#include "common/base/threads/fair_turns.h"

#include <cstdint>
#include <map>
#include <string>

#include "common/base/random.h"
#include "tests/support/catch.h"

namespace waggle {
namespace {

// Parties that always want a turn, and the cost of their turns.
struct Play {
  void Add(char name, int64_t turn) {
    sizes[name] = turn;
    served[name] = turns.Join(0, name);
  }
  // The names of the next parties.
  std::string Next(int count) {
    std::string names;
    for (int i = 0; i < count; ++i) {
      const char name = turns.Next();
      taken[name] += sizes[name];
      served[name] = turns.Join(served[name] + sizes[name], name);
      names += name;
    }
    return names;
  }

  FairTurns<char> turns;
  std::map<char, int64_t> sizes;
  std::map<char, int64_t> served;
  std::map<char, int64_t> taken;
};

TEST_CASE("An absent party saves no turns up", "[unit]") {
  Play play;
  play.Add('a', 10);
  CHECK(play.Next(100) == std::string(100, 'a'));
  play.Add('b', 10);
  CHECK(play.Next(6) == "bababa");
}

TEST_CASE("The shares of two parties that always want turns differ by at most one turn of each", "[unit]") {
  Rng rng(5);
  for (int round = 0; round < 20; ++round) {
    Play play;
    for (const char name : std::string("abcdef")) {
      play.Add(name, 1 + static_cast<int64_t>(rng.Uniform() * 1'000));
    }
    for (int i = 0; i < 2'000; ++i) {
      play.Next(1);
      for (const auto& [one, one_taken] : play.taken) {
        for (const auto& [other, other_taken] : play.taken) {
          REQUIRE(one_taken - other_taken <= play.sizes[one] + play.sizes[other]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace waggle
