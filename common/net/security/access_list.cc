#include "common/net/security/access_list.h"

#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/file.h"
#include "common/base/status_macros.h"

namespace waggle {
namespace {

constexpr absl::string_view kRoleSuffix = ".waggle";
constexpr size_t kMaxTokenBytes = 4096;

}  // namespace

absl::Status AccessList::Add(const Caller& caller, const std::vector<std::string>& token_hashes,
                             const std::vector<std::string>& certificates) {
  ++num_callers_;
  for (const auto& [keys, callers] :
       {std::pair(&token_hashes, &by_token_hash_), std::pair(&certificates, &by_certificate_)}) {
    for (const std::string& key : *keys) {
      if (const auto [place, added] = callers->emplace(key, caller); !added) {
        return absl::InvalidArgumentError(absl::StrCat("callers.", caller.name, ": got ", key, ", which ",
                                                       place->second.name,
                                                       " has; wanted one that no other caller has"));
      }
    }
  }
  return absl::OkStatus();
}

std::optional<Caller> AccessList::ByToken(absl::string_view token) const {
  if (token.size() > kMaxTokenBytes) {
    return std::nullopt;
  }
  const auto found = by_token_hash_.find(TokenHash(token));
  return found == by_token_hash_.end() ? std::nullopt : std::optional<Caller>(found->second);
}

std::optional<Caller> AccessList::ByCertificate(const std::vector<std::string>& names) const {
  std::optional<Caller> caller;
  const auto add = [&caller](const std::string& name, AccessRoles roles) {
    caller = Caller{caller.has_value() ? caller->name : name, caller.has_value() ? (caller->roles | roles) : roles};
  };
  // Names of the file first: a caller is better known by them.
  for (const std::string& name : names) {
    if (const auto found = by_certificate_.find(name); found != by_certificate_.end()) {
      add(found->second.name, found->second.roles);
    }
  }
  for (const std::string& name : names) {
    const std::optional<AccessRole> role =
        absl::EndsWith(name, kRoleSuffix) ? AccessRoleOf(absl::StripSuffix(name, kRoleSuffix)) : std::nullopt;
    if (role.has_value()) {
      add(name, *role);
    }
  }
  return caller;
}

std::string TokenHash(absl::string_view token) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest);
  return absl::StrCat(kTokenHashPrefix,
                      absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest))));
}

absl::StatusOr<std::string> NewToken() {
  unsigned char bytes[32];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1) {
    return absl::InternalError("OpenSSL has no random numbers");
  }
  return absl::WebSafeBase64Escape(absl::string_view(reinterpret_cast<const char*>(bytes), sizeof(bytes)));
}

absl::StatusOr<std::string> ReadToken(const std::string& file) {
  struct stat info = {};
  if (stat(file.c_str(), &info) != 0) {
    return FileError(errno, file, "read");
  }
  if ((info.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(file, ": got a file that all users of this machine can read; wanted chmod 600"));
  }
  WAGGLE_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(file, kMaxTokenBytes));
  const std::string token(absl::StripAsciiWhitespace(text.substr(0, text.find('\n'))));
  if (token.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(file, ": got no token; wanted one in the first line"));
  }
  return token;
}

}  // namespace waggle
