#include "actor/environments/external/environment_process.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "actor/environments/external/waggle_environment_memory.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxMessageBytes = size_t{16} << 20;
// Checks for the end of a process that has closed its socket, a millisecond apart.
constexpr int kMostLooks = 200;

static_assert(sizeof(waggle_message) == 8, "docs/environment_memory.md says so");

// Numeric libraries must not start a thread for each core in each process.
std::vector<std::pair<std::string, std::string>> OneThread() {
  return {{"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"}, {"MKL_NUM_THREADS", "1"}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<EnvironmentProcess>> EnvironmentProcess::Start(
    const EnvironmentProcessOptions& options) {
  WAGGLE_ASSIGN_OR_RETURN(EnvironmentMemory memory, EnvironmentMemory::Create());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "a socket for an environment process");
  }
  ChildOptions child_options;
  child_options.command = options.command;
  child_options.default_environment = OneThread();
  child_options.descriptors = {ends[1], memory.descriptor()};
  absl::StatusOr<std::unique_ptr<ChildProcess>> child = ChildProcess::Spawn(child_options);
  close(ends[1]);
  if (!child.ok()) {
    close(ends[0]);
    return child.status();
  }
  std::unique_ptr<EnvironmentProcess> process(
      new EnvironmentProcess(options, std::move(memory), ends[0], *std::move(child)));
  Json open = {{"version", WAGGLE_ENVIRONMENT_VERSION}, {"scheme", options.scheme}, {"lanes", options.group_lanes}};
  open["options"] = Json::parse(options.options_json, nullptr, /*allow_exceptions=*/false);
  WAGGLE_RETURN_IF_ERROR(process->Send(WAGGLE_OPEN, 0, open.dump()));
  return process;
}

EnvironmentProcess::EnvironmentProcess(EnvironmentProcessOptions options, EnvironmentMemory memory, int socket,
                                       std::unique_ptr<ChildProcess> child)
    : options_(std::move(options)),
      memory_(std::move(memory)),
      socket_(socket),
      child_(std::move(child)),
      running_(options_.group_lanes.size()) {}

EnvironmentProcess::~EnvironmentProcess() {
  KillGroup();
  close(socket_);
}

void EnvironmentProcess::KillGroup() {
  siginfo_t exit = {};
  // The group's number is not reused until the process is reaped.
  if (waitid(P_PID, static_cast<id_t>(child_->pid()), &exit, WEXITED | WNOHANG | WNOWAIT) == 0) {
    kill(-child_->pid(), SIGKILL);
  }
}

absl::Status EnvironmentProcess::Run(size_t group) {
  running_[group] = true;
  const absl::Status sent = Send(WAGGLE_RUN, group, "");
  if (sent.ok()) {
    return sent;
  }
  // The process may have sent its error before it ended, in several pieces.
  std::vector<size_t> done;
  absl::Status said;
  for (int i = 0; i < kMostLooks && said.ok(); ++i) {
    said = Receive(&done);
  }
  return said.ok() ? sent : said;
}

absl::Status EnvironmentProcess::Send(uint8_t kind, size_t group, const std::string& json) {
  waggle_message frame = {kind, static_cast<uint8_t>(group), 0, static_cast<uint32_t>(json.size())};
  std::string message(reinterpret_cast<const char*>(&frame), sizeof(frame));
  message += json;
  size_t sent = 0;
  while (sent < message.size()) {
    const ssize_t now = send(socket_, message.data() + sent, message.size() - sent, MSG_NOSIGNAL);
    if (now < 0 && errno != EINTR) {
      return Gone();
    }
    sent += now < 0 ? 0 : static_cast<size_t>(now);
  }
  return absl::OkStatus();
}

absl::Status EnvironmentProcess::Receive(std::vector<size_t>* done) {
  char buffer[4096];
  ssize_t got = 0;
  do {
    got = recv(socket_, buffer, sizeof(buffer), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    return absl::OkStatus();
  }
  if (got <= 0) {
    return Gone();
  }
  received_.append(buffer, static_cast<size_t>(got));
  size_t taken = 0;
  while (received_.size() - taken >= sizeof(waggle_message)) {
    waggle_message frame;
    std::memcpy(&frame, received_.data() + taken, sizeof(frame));
    if (frame.bytes > kMaxMessageBytes) {
      return absl::InternalError(absl::StrCat(options_.environment_name, ": message: got ", frame.bytes,
                                              " bytes; wanted at most ", kMaxMessageBytes));
    }
    if (received_.size() - taken - sizeof(frame) < frame.bytes) {
      break;
    }
    const std::string json = received_.substr(taken + sizeof(frame), frame.bytes);
    taken += sizeof(frame) + frame.bytes;
    WAGGLE_RETURN_IF_ERROR(TakeMessage(frame.kind, frame.group, json, done));
  }
  received_.erase(0, taken);
  return absl::OkStatus();
}

absl::Status EnvironmentProcess::TakeMessage(uint8_t kind, size_t group, const std::string& json,
                                             std::vector<size_t>* done) {
  if (kind == WAGGLE_DONE && group < running_.size() && running_[group]) {
    running_[group] = false;
    done->push_back(group);
    return absl::OkStatus();
  }
  if (kind == WAGGLE_SPEC && !spec_.has_value()) {
    return TakeSpec(json);
  }
  if (kind == WAGGLE_READY && spec_.has_value() && !ready_) {
    ready_ = true;
    return absl::OkStatus();
  }
  if (kind == WAGGLE_ERROR) {
    const Json error = Json::parse(json, nullptr, /*allow_exceptions=*/false);
    const auto text = [&error](const char* key) {
      const auto found = error.is_object() ? error.find(key) : error.end();
      return found != error.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    const bool final = error.is_object() && error.contains("final") && error["final"] == true;
    const std::string traceback = text("traceback");
    const std::string message = absl::StrCat(text("message"), traceback.empty() ? "" : "\n", traceback);
    return final ? absl::InvalidArgumentError(message) : absl::InternalError(message);
  }
  return absl::InternalError(
      absl::StrCat(options_.environment_name, ": message ", kind, " for group ", group, ", which was not requested"));
}

absl::Status EnvironmentProcess::TakeSpec(const std::string& json) {
  WAGGLE_ASSIGN_OR_RETURN(spec_, ParseExternalSpec(json, options_.environment_name));
  WAGGLE_RETURN_IF_ERROR(memory_.Arrange(spec_->environment, options_.group_lanes, options_.first_lane));
  return Send(WAGGLE_MEMORY, 0, "");
}

absl::Status EnvironmentProcess::Gone() {
  // An ending process closes its socket a moment before it ends.
  siginfo_t ended = {};
  for (int i = 0; i < kMostLooks && ended.si_pid == 0 &&
                  waitid(P_PID, static_cast<id_t>(child_->pid()), &ended, WEXITED | WNOHANG | WNOWAIT) == 0;
       ++i) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  KillGroup();
  const std::optional<ChildExit>& exit = child_->Poll();
  return absl::UnavailableError(absl::StrCat(options_.environment_name, ": its process ",
                                             exit.has_value() ? exit->DebugString() : "has closed its socket"));
}

}  // namespace waggle
