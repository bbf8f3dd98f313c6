#include "replay_server/table/writer_marks.h"

#include <vector>

#include "tests/support/catch.h"

namespace waggle {
namespace {

constexpr uint64_t kWriter = 3;

// Takes the mark of the only writer.
WriterMark Take(WriterMarks* marks) {
  std::vector<WriterMark> taken;
  marks->TakeChanges(/*table=*/9, &taken);
  REQUIRE(taken.size() == 1);
  REQUIRE(taken.front().writer == kWriter);
  REQUIRE(taken.front().table == 9);
  return taken.front();
}

bool AnyChanges(WriterMarks* marks) {
  std::vector<WriterMark> taken;
  marks->TakeChanges(/*table=*/9, &taken);
  return !taken.empty();
}

TEST_CASE("A mark is at the last block before which no block waits, with the items of the next one", "[unit]") {
  WriterMarks marks;
  marks.NoteCome({kWriter, 1, 0}, /*empty=*/false);
  CHECK_FALSE(AnyChanges(&marks));
  marks.NoteCome({kWriter, 2, 0}, /*empty=*/true);
  CHECK_FALSE(AnyChanges(&marks));  // The first block waits.
  marks.NoteIn({kWriter, 1, 2}, 3, /*all=*/false);
  WriterMark mark = Take(&marks);
  CHECK(mark.sequence == 0);
  CHECK(mark.items == 5);  // Skipped items count.
  marks.NoteIn({kWriter, 1, 2}, 6, /*all=*/true);
  mark = Take(&marks);
  CHECK(mark.sequence == 2);
  CHECK(mark.items == 0);
  marks.NoteCome({kWriter, 3, 0}, /*empty=*/true);
  CHECK(Take(&marks).sequence == 3);
}

TEST_CASE("Blocks of unknown and forgotten writers change nothing", "[unit]") {
  WriterMarks marks;
  marks.NoteCome({0, 1, 0}, /*empty=*/true);
  marks.NoteCome({0, 2, 0}, /*empty=*/false);
  marks.NoteIn({0, 2, 0}, 1, /*all=*/true);
  marks.NoteCome({kWriter, 1, 0}, /*empty=*/true);
  marks.Forget(kWriter);
  CHECK_FALSE(AnyChanges(&marks));
}

TEST_CASE("Blocks that get new numbers no longer count, and earlier blocks do", "[unit]") {
  WriterMarks marks;
  SECTION("all blocks are in") {
    marks.Restore({{kWriter, 5, 2, 9}});
    marks.Restart(kWriter, 3);
    const WriterMark mark = Take(&marks);
    CHECK(mark.sequence == 3);
    CHECK(mark.items == 0);
  }
  SECTION("the first block with a new number is half in") {
    marks.Restore({{kWriter, 3, 2, 9}});
    marks.Restart(kWriter, 3);
    const WriterMark mark = Take(&marks);
    CHECK(mark.sequence == 3);
    CHECK(mark.items == 0);
  }
  SECTION("a block that keeps its number is half in, and waits") {
    marks.Restore({{kWriter, 2, 4, 9}});
    marks.NoteCome({kWriter, 3, 4}, /*empty=*/false);
    marks.Restart(kWriter, 3);
    WriterMark mark = Take(&marks);
    CHECK(mark.sequence == 2);
    CHECK(mark.items == 4);
    marks.NoteIn({kWriter, 3, 4}, 2, /*all=*/true);
    mark = Take(&marks);
    CHECK(mark.sequence == 3);
    CHECK(mark.items == 0);
  }
  SECTION("a block that keeps its number has not come yet") {
    marks.Restore({{kWriter, 1, 0, 9}});
    marks.NoteCome({kWriter, 2, 0}, /*empty=*/false);
    marks.Restart(kWriter, 3);
    CHECK(Take(&marks).sequence == 1);
    marks.NoteIn({kWriter, 2, 0}, 1, /*all=*/true);
    CHECK(Take(&marks).sequence == 2);
  }
}

}  // namespace
}  // namespace waggle
