#include "replay_server/table/writer_marks.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/each_failure.h"

namespace waggle {
namespace {

constexpr uint64_t kWriter = 3;

// What is handed over of its only writer.
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

TEST_CASE("A mark goes to the last block before which nothing waits, and into the next one", "[unit]") {
  WriterMarks marks;
  marks.NoteCome({kWriter, 1, 0}, /*empty=*/false);
  CHECK_FALSE(AnyChanges(&marks));
  marks.NoteCome({kWriter, 2, 0}, /*empty=*/true);
  CHECK_FALSE(AnyChanges(&marks));  // The first one waits.
  marks.NoteIn({kWriter, 1, 2}, 3, /*all=*/false);
  WriterMark mark = Take(&marks);
  CHECK(mark.sequence == 0);
  CHECK(mark.items == 5);  // Those that were in before count.
  marks.NoteIn({kWriter, 1, 2}, 6, /*all=*/true);
  mark = Take(&marks);
  CHECK(mark.sequence == 2);
  CHECK(mark.items == 0);
  marks.NoteCome({kWriter, 3, 0}, /*empty=*/true);
  CHECK(Take(&marks).sequence == 3);
}

TEST_CASE("What nobody keeps account of changes nothing", "[unit]") {
  WriterMarks marks;
  marks.NoteCome({0, 1, 0}, /*empty=*/true);
  marks.NoteCome({0, 2, 0}, /*empty=*/false);
  marks.NoteIn({0, 2, 0}, 1, /*all=*/true);
  marks.NoteCome({kWriter, 1, 0}, /*empty=*/true);
  marks.Forget(kWriter);
  CHECK_FALSE(AnyChanges(&marks));
}

TEST_CASE("Blocks that are numbered anew count no more, and those before them stay as they are", "[unit]") {
  WriterMarks marks;
  SECTION("all of them are in") {
    marks.Restore({{kWriter, 5, 2, 9}});
    marks.Restart(kWriter, 3);
    const WriterMark mark = Take(&marks);
    CHECK(mark.sequence == 3);
    CHECK(mark.items == 0);
  }
  SECTION("the first one that is numbered anew is half in") {
    marks.Restore({{kWriter, 3, 2, 9}});
    marks.Restart(kWriter, 3);
    const WriterMark mark = Take(&marks);
    CHECK(mark.sequence == 3);
    CHECK(mark.items == 0);
  }
  SECTION("one that keeps its number is half in, and waits") {
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
  SECTION("one that keeps its number has not come yet") {
    marks.Restore({{kWriter, 1, 0, 9}});
    marks.NoteCome({kWriter, 2, 0}, /*empty=*/false);
    marks.Restart(kWriter, 3);
    CHECK(Take(&marks).sequence == 1);
    marks.NoteIn({kWriter, 2, 0}, 1, /*all=*/true);
    CHECK(Take(&marks).sequence == 2);
  }
}

// What is handed over, in the order of the writers.
std::vector<WriterMark> TakeAll(WriterMarks* marks) {
  std::vector<WriterMark> taken;
  marks->TakeChanges(/*table=*/9, &taken);
  std::sort(taken.begin(), taken.end(), [](const WriterMark& a, const WriterMark& b) { return a.writer < b.writer; });
  return taken;
}

bool Same(const std::vector<WriterMark>& a, const std::vector<WriterMark>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const WriterMark& mark, const WriterMark& other) {
    return mark.writer == other.writer && mark.sequence == other.sequence && mark.items == other.items;
  });
}

// Of writers 1, 2, …, all of them changed.
WriterMarks Changed(uint64_t writers) {
  WriterMarks marks;
  for (uint64_t writer = 1; writer <= writers; ++writer) {
    marks.Restore({{writer, 2, 1, 9}});
    marks.Touch(writer);
  }
  return marks;
}

TEST_CASE("Where memory runs out a mark is as it was, and changes when that is noted again", "[unit]") {
  const auto note = GENERATE(
      as<std::function<void(WriterMarks*, uint64_t)>>{},
      [](WriterMarks* marks, uint64_t writer) {
        marks->NoteCome({writer, 3, 0}, true);
      },
      [](WriterMarks* marks, uint64_t writer) {
        marks->NoteCome({writer, 3, 0}, false);
        marks->NoteIn({writer, 3, 0}, 2, true);
      },
      [](WriterMarks* marks, uint64_t writer) {
        marks->NoteIn({writer, 3, 0}, 2, false);
      },
      [](WriterMarks* marks, uint64_t writer) { marks->Restart(writer, 1); },
      [](WriterMarks* marks, uint64_t writer) { marks->Touch(writer); });
  for (uint64_t writers = 0; writers < 40; ++writers) {
    WriterMarks wanted = Changed(writers);
    note(&wanted, writers + 1);
    const std::vector<WriterMark> expected = TakeAll(&wanted);
    testing::ForEachFailure([&](testing::Failure* failure) {
      CAPTURE(writers);
      WriterMarks marks = Changed(writers);
      if (!failure->Let([&] { note(&marks, writers + 1); })) {
        note(&marks, writers + 1);
      }
      REQUIRE(Same(TakeAll(&marks), expected));
      REQUIRE(TakeAll(&marks).empty());
    });
  }
}

TEST_CASE("Marks for which there is no memory are handed over the next time", "[unit]") {
  testing::ForEachFailure([](testing::Failure* failure) {
    WriterMarks marks = Changed(9);
    std::vector<WriterMark> taken;
    if (!failure->Let([&] { marks.TakeChanges(9, &taken); })) {
      REQUIRE(taken.empty());
      marks.TakeChanges(9, &taken);
    }
    REQUIRE(taken.size() == 9);
    REQUIRE(TakeAll(&marks).empty());
    marks.Touch(4);
    REQUIRE(TakeAll(&marks).size() == 1);
  });
}

TEST_CASE("What has come is noted to be in without memory, however many others have come and are in", "[unit]") {
  WriterMarks marks;
  const auto each = [](const std::function<void(uint64_t)>& note) {
    for (uint64_t writer = 1; writer <= 100; ++writer) {
      note(writer);
    }
  };
  const auto in = [&](uint64_t sequence) {
    testing::FailingMemory none(0, /*for_good=*/true);
    for (uint64_t writer = 1; writer <= 100; ++writer) {
      marks.NoteIn({writer, sequence, 0}, 1, /*all=*/true);
    }
  };
  each([&](uint64_t writer) {
    marks.NoteCome({writer, 1, 0}, /*empty=*/false);
    marks.NoteCome({writer, 2, 0}, /*empty=*/false);
  });
  in(1);
  REQUIRE(TakeAll(&marks).size() == 100);
  in(2);
  REQUIRE(TakeAll(&marks).size() == 100);
}

}  // namespace
}  // namespace waggle
