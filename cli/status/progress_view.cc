#include "cli/status/progress_view.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/human_text.h"

namespace waggle {
namespace {

constexpr absl::Duration kLinePeriod = absl::Seconds(2);
constexpr size_t kDefaultWidth = 100;
constexpr double kShareWorthSaying = 0.005;  // A smaller share is shown as 0%.
constexpr size_t kDefaultHeight = 24;

// One decimal; "-" if there is no value yet.
std::string Decimal(std::optional<double> value) {
  return value.has_value() ? absl::StrFormat("%.1f", *value) : "-";
}

// "-" if there is no value.
std::string Percent(std::optional<double> fraction) {
  return fraction.has_value() ? absl::StrFormat("%.0f%%", 100 * std::clamp(*fraction, 0.0, 1.0)) : "-";
}

std::string Number(std::optional<double> value) {
  return value.has_value() ? ShortNumber(*value) : "-";
}

std::string Rate(std::optional<double> per_second, const char* what) {
  return absl::StrCat(Number(per_second), " ", what);
}

std::string EvaluationText(const RunFacts& facts, const ProgressContext& context) {
  std::optional<double> newest;
  std::optional<double> best;
  for (const v1::Evaluation& evaluation : facts.evaluations) {
    newest = evaluation.mean_return();
    best = std::max(best.value_or(evaluation.mean_return()), evaluation.mean_return());
  }
  std::string text = absl::StrFormat("mean return %-8s best %-8s", Decimal(newest), Decimal(best));
  if (context.target_return.has_value()) {
    absl::StrAppend(&text, " target ", Decimal(context.target_return));
  }
  return text;
}

std::string Bold(const std::string& text) {
  return absl::StrCat("\x1b[1m", text, "\x1b[0m");
}

// True if gradients come in place of batches: the run has no tables.
bool ActorsPush(const RunFacts& facts) {
  return facts.gradients.has_value() && !facts.gradients->by_learners;
}

std::string GradientsLine(const GradientFacts& gradients) {
  return absl::StrFormat("  gradients   %-13s %-13s %s", Rate(gradients.pushed_per_s, "pushed/s"),
                         Rate(gradients.pushed, "pushed"), GradientsText(gradients));
}

std::string TooOldText(const RunFacts& facts) {
  return facts.items_too_old > 0 ? absl::StrFormat(", %.0f items too old", facts.items_too_old) : "";
}

// Each side's share of time spent waiting, and the cause if it is more than keeping a ratio.
std::string WaitingText(const RunFacts& facts) {
  // A primary's waiting is not measured.
  const std::string learner = ActorsPush(facts) ? "" : absl::StrCat(", learner ", Percent(facts.learner_waiting));
  std::vector<std::string> parts = {absl::StrCat("actors ", Percent(facts.actor_waiting), learner, " of their time")};
  if (!facts.turn.empty()) {
    parts.push_back(facts.turn);
  }
  if (!facts.cause.empty() && !IsOver(facts.state)) {
    parts.push_back(facts.cause);
  }
  return absl::StrJoin(parts, "; ");
}

// How full the tables are, if all servers that have some have answered.
std::string FillText(const RunFacts& facts) {
  if (facts.replay_servers_unheard > 0) {
    return absl::StrCat("tables unknown: ", facts.replay_servers_unheard,
                        " of the replay servers not reached from here");
  }
  return facts.table_max_items > 0
             ? absl::StrFormat("table %.0f of %.0f (%s)", facts.table_items, facts.table_max_items,
                               Percent(facts.table_items / facts.table_max_items))
             : "no table yet";
}

// The lines between actors and evaluations.
std::vector<std::string> LearningLines(const RunFacts& facts) {
  const std::string learner = absl::StrFormat("  learner     %-13s %-13s", Rate(facts.learner_steps_per_s, "steps/s"),
                                              Rate(facts.learner_steps, "steps"));
  if (ActorsPush(facts)) {
    return {GradientsLine(*facts.gradients), learner};
  }
  std::vector<std::string> lines = {
      absl::StrFormat("  replay      %-13s %-13s %s", Rate(facts.items_inserted_per_s, "in/s"),
                      Rate(facts.items_sampled_per_s, "out/s"), FillText(facts)),
      absl::StrFormat("%s %.0f items learned from%s", learner, facts.items_learned, TooOldText(facts)),
      absl::StrCat("  policy lag  ", RenderLag(facts))};
  if (facts.gradients.has_value()) {
    lines.push_back(GradientsLine(*facts.gradients));
  }
  return lines;
}

}  // namespace

std::vector<std::string> RenderBlock(const RunFacts& facts, const ProgressContext& context, size_t width, bool color) {
  const std::string title =
      absl::StrFormat("%s: %s, %.1f s, %s", context.experiment,
                      context.outcome.empty() ? RunStateName(facts.state) : context.outcome.c_str(),
                      absl::ToDoubleSeconds(facts.running), context.output_folder);
  std::vector<std::string> lines = {
      title,
      absl::StrFormat("  actors      %-13s %-13s %d running, return %s", Rate(facts.env_steps_per_s, "steps/s"),
                      Rate(facts.env_steps, "steps"), facts.actors, Decimal(facts.training_return)),
  };
  for (std::string& line : LearningLines(facts)) {
    lines.push_back(std::move(line));
  }
  lines.push_back(absl::StrCat("  evaluation  ", EvaluationText(facts, context)));
  lines.push_back(absl::StrCat("  waiting     ", WaitingText(facts)));
  std::vector<std::string> block;
  for (const std::string& line : lines) {
    block.push_back(Printable(line, width));
  }
  if (color) {
    block[0] = Bold(block[0]);
  }
  return block;
}

std::string RenderLine(const RunFacts& facts, const ProgressContext& context) {
  const std::string flow =
      ActorsPush(facts) ? absl::StrFormat("gradients %s pushed (%s/s) %s applied %.0f refused",
                                          ShortNumber(facts.gradients->pushed), Number(facts.gradients->pushed_per_s),
                                          ShortNumber(facts.gradients->applied), facts.gradients->Refused())
                        : absl::StrFormat("items %s/s in %s/s out", Number(facts.items_inserted_per_s),
                                          Number(facts.items_sampled_per_s));
  std::string line =
      absl::StrFormat("%6.1f s  %s env steps (%s/s)  %s  %s learner steps (%s/s)", absl::ToDoubleSeconds(facts.running),
                      ShortNumber(facts.env_steps), Number(facts.env_steps_per_s), flow,
                      ShortNumber(facts.learner_steps), Number(facts.learner_steps_per_s));
  if (!ActorsPush(facts)) {
    absl::StrAppend(&line, "  table ",
                    facts.replay_servers_unheard > 0 ? "-" : absl::StrFormat("%.0f", facts.table_items));
  }
  absl::StrAppend(&line, "  return ", Decimal(facts.training_return));
  std::optional<double> newest;
  if (!facts.evaluations.empty()) {
    newest = facts.evaluations.back().mean_return();
  }
  absl::StrAppend(&line, "  evaluation ", Decimal(newest));
  if (context.target_return.has_value()) {
    absl::StrAppend(&line, " of ", Decimal(context.target_return));
  }
  if (!ActorsPush(facts)) {
    absl::StrAppend(&line, "  lag ", Decimal(facts.policy_lag_mean));
  }
  absl::StrAppend(&line, "  waiting: ", WaitingText(facts));
  return Printable(line);
}

std::string RenderLag(const RunFacts& facts) {
  double all = 0;
  for (const double count : facts.policy_lags) {
    all += count;
  }
  std::vector<std::string> parts;
  for (size_t bucket = 0; bucket < kLagBuckets && all > 0; ++bucket) {
    if (const double share = facts.policy_lags[bucket] / all; share >= kShareWorthSaying) {
      parts.push_back(absl::StrCat(LagBucketName(bucket), ": ", Percent(share)));
    }
  }
  const std::string shares = parts.empty() ? "" : absl::StrCat("; ", absl::StrJoin(parts, ", "));
  return absl::StrCat("mean ", Decimal(facts.policy_lag_when_inserted), " inserted, ",
                      Decimal(facts.policy_lag_when_sampled), " sampled, ", Decimal(facts.policy_lag_mean),
                      " learned from; max ", Decimal(facts.policy_lag_max), shares);
}

std::string RenderEvaluation(const v1::Evaluation& evaluation, std::optional<double> target_return) {
  return absl::StrCat("evaluation: mean return ", Decimal(evaluation.mean_return()),
                      target_return.has_value() ? absl::StrCat(" of ", Decimal(target_return), " wanted") : "",
                      " over ", evaluation.episodes(), " episodes (", Decimal(evaluation.min_return()), " to ",
                      Decimal(evaluation.max_return()), "), weights of learner step ", evaluation.version().version());
}

ProgressPrinter::ProgressPrinter()
    : ProgressPrinter(STDOUT_FILENO, isatty(STDOUT_FILENO) == 1, [] {
        const char* no_color = std::getenv("NO_COLOR");
        return no_color == nullptr || *no_color == '\0';
      }()) {}

ProgressPrinter::ProgressPrinter(int file_descriptor, bool terminal, bool color)
    : file_(file_descriptor), terminal_(terminal), color_(color) {}

void ProgressPrinter::Write(const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(file_, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) {
      // A reader that went away must not end the run. A terminal that has no room now gets the next lines.
      failed_ = failed_ || errno != EAGAIN;
      return;
    }
    done += written < 0 ? 0 : static_cast<size_t>(written);
  }
}

ProgressPrinter::Size ProgressPrinter::TerminalSize() const {
  winsize size = {};
  const bool known = ioctl(file_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  return known ? Size{size.ws_col, size.ws_row} : Size{kDefaultWidth + 1, kDefaultHeight};
}

std::string ProgressPrinter::Erase() {
  const size_t columns = TerminalSize().columns;
  size_t rows = 0;
  for (const size_t length : std::exchange(drawn_, {})) {
    // A terminal that has become narrower has wrapped what it showed.
    rows += length == 0 ? 1 : (length + columns - 1) / columns;
  }
  return rows == 0 ? "" : absl::StrCat("\x1b[", rows, "A\r\x1b[J");
}

std::string ProgressPrinter::Draw() {
  if (!terminal_ || !shown_.has_value()) {
    return "";
  }
  const Size size = TerminalSize();
  // The last column stays free, as some terminals wrap when it is written. The last row stays free too, for the cursor:
  // rows that scroll out of sight cannot be redrawn.
  const size_t width = std::max<size_t>(1, size.columns - 1);
  std::vector<std::string> block = RenderBlock(shown_->facts, shown_->context, width, /*color=*/false);
  block.resize(std::min(block.size(), std::max<size_t>(1, size.rows - 1)));
  for (const std::string& line : block) {
    drawn_.push_back(line.size());
  }
  if (color_) {
    block[0] = Bold(block[0]);
  }
  return absl::StrCat(absl::StrJoin(block, "\n"), "\n");
}

void ProgressPrinter::Update(const RunFacts& facts, const ProgressContext& context) {
  if (terminal_) {
    shown_ = Shown{facts, context};
    Redraw();
  } else if (context.elapsed >= next_line_) {
    Last(facts, context);
  }
}

void ProgressPrinter::Last(const RunFacts& facts, const ProgressContext& context) {
  if (terminal_) {
    Update(facts, context);
  } else {
    next_line_ = context.elapsed + kLinePeriod;
    Write(absl::StrCat(RenderLine(facts, context), "\n"));
  }
}

void ProgressPrinter::Event(const std::string& line) {
  const std::string erase = Erase();
  Write(absl::StrCat(erase, Printable(line), "\n", Draw()));
}

void ProgressPrinter::SetOutcome(const std::string& outcome) {
  if (shown_.has_value()) {
    shown_->context.outcome = outcome;
  }
}

void ProgressPrinter::Redraw() {
  const std::string erase = Erase();
  Write(absl::StrCat(erase, Draw()));
}

}  // namespace waggle
