#include "replay_server/table/writer_marks.h"

#include <algorithm>

namespace waggle {

void WriterMarks::Restore(const std::vector<WriterMark>& saved) {
  for (const WriterMark& mark : saved) {
    marks_[mark.writer] = {mark.sequence, mark.items, mark.sequence, 0, false};
  }
}

WriterMarks::Mark& WriterMarks::Change(uint64_t writer) {
  Mark& mark = marks_[writer];
  if (!mark.changed) {
    changed_.push_back(writer);
    mark.changed = true;
  }
  return mark;
}

void WriterMarks::NoteCome(const BlockOrigin& origin, bool empty) {
  if (origin.writer == 0) {
    return;
  }
  Mark& mark = marks_[origin.writer];
  if (empty && mark.waiting == 0 && mark.sequence < origin.sequence) {
    Change(origin.writer);
    mark.sequence = origin.sequence;
    mark.items = 0;
  }
  mark.last = std::max(mark.last, origin.sequence);
  mark.waiting += empty ? 0 : 1;
}

void WriterMarks::NoteIn(const BlockOrigin& origin, uint64_t items, bool all) {
  if (origin.writer == 0) {
    return;
  }
  Mark& mark = Change(origin.writer);
  if (!all) {
    mark.sequence = origin.sequence - 1;
    mark.items = origin.skipped + items;
  } else {
    --mark.waiting;
    // Later blocks without items for this table did not wait.
    mark.sequence = mark.waiting == 0 ? mark.last : origin.sequence;
    mark.items = 0;
  }
}

void WriterMarks::Restart(uint64_t writer, uint64_t sequence) {
  Mark& mark = Change(writer);
  if (mark.sequence >= sequence) {  // Otherwise the items are of a block that keeps its number.
    mark.sequence = sequence;
    mark.items = 0;
  }
  mark.last = std::min(mark.last, sequence);
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
