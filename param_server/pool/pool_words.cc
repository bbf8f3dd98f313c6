#include "param_server/pool/pool_words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace waggle {

std::string Describe(const SeatGroup& group, const std::string& environment, int64_t count) {
  const char* const word = group.kind == WorkerKind::kGradient ? "gradient worker"
                           : group.role == Role::kReplayServer ? "replay server"
                                                               : WorkerKindName(group.kind);
  return absl::StrCat(count, " ", word, count == 1 ? "" : "s", group.device == "cpu" ? "" : " with ",
                      group.device == "cpu" ? "" : group.device, group.steps_environment ? " for " : "",
                      group.steps_environment ? environment : "");
}

std::string NameOf(const WorkOrder& order) {
  return absl::StrCat(RoleName(order.role), " ", order.index, " of ", order.experiment_id);
}

std::string OneLine(const std::string& text) {
  std::string line;
  for (const char c : text) {
    line +=
        absl::ascii_iscntrl(static_cast<unsigned char>(c)) ? absl::CHexEscape(std::string(1, c)) : std::string(1, c);
  }
  return line;
}

std::string Whereabouts(const std::string& worker_id, const std::string& host) {
  return absl::StrCat(worker_id, " on ", absl::CHexEscape(host));
}

}  // namespace waggle
