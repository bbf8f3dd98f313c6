#include "replay_server/table/writer_marks.h"

#include <algorithm>
#include <utility>

namespace waggle {

void WriterMarks::Restore(const std::vector<WriterMark>& saved) {
  for (const WriterMark& mark : saved) {
    marks_[mark.writer] = {mark.sequence, mark.items, mark.sequence, 0, false};
  }
}

void WriterMarks::NoteChange(uint64_t writer, Mark* mark) {
  if (!std::exchange(mark->changed, true)) {
    changed_.push_back(writer);
  }
}

void WriterMarks::NoteCome(const BlockOrigin& origin, bool empty) {
  if (origin.writer == 0) {
    return;
  }
  Mark& mark = marks_[origin.writer];
  mark.last = std::max(mark.last, origin.sequence);
  if (!empty) {
    ++mark.waiting;
  } else if (mark.waiting == 0 && mark.sequence < origin.sequence) {
    mark.sequence = origin.sequence;
    mark.items = 0;
    NoteChange(origin.writer, &mark);
  }
}

void WriterMarks::NoteIn(const BlockOrigin& origin, uint64_t items, bool all) {
  if (origin.writer == 0) {
    return;
  }
  Mark& mark = marks_[origin.writer];
  if (!all) {
    mark.sequence = origin.sequence - 1;
    mark.items = origin.skipped + items;
  } else {
    --mark.waiting;
    // Later blocks that have no items for this table did not wait.
    mark.sequence = mark.waiting == 0 ? mark.last : origin.sequence;
    mark.items = 0;
  }
  NoteChange(origin.writer, &mark);
}

void WriterMarks::Restart(uint64_t writer, uint64_t sequence) {
  Mark& mark = marks_[writer];
  if (mark.sequence >= sequence) {  // Otherwise what is in is of a block that keeps its number.
    mark.sequence = sequence;
    mark.items = 0;
  }
  mark.last = std::min(mark.last, sequence);
  NoteChange(writer, &mark);
}

void WriterMarks::TakeChanges(uint64_t table, std::vector<WriterMark>* marks) {
  for (const uint64_t writer : changed_) {
    if (const auto found = marks_.find(writer); found != marks_.end()) {
      found->second.changed = false;
      marks->push_back({writer, found->second.sequence, found->second.items, table});
    }
  }
  changed_.clear();
}

}  // namespace waggle
