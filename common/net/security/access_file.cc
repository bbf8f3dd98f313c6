#include "common/net/security/access_file.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/config/config_reader.h"
#include "common/config/yaml_file.h"

namespace waggle {
namespace {

bool IsTokenHash(const std::string& text) {
  const absl::string_view digits = absl::StripPrefix(text, kTokenHashPrefix);
  return absl::StartsWith(text, kTokenHashPrefix) && digits.size() == kTokenHashDigits &&
         std::all_of(digits.begin(), digits.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0 || (c >= 'a' && c <= 'f'); });
}

bool IsRole(const std::string& text) {
  return AccessRoleOf(text).has_value();
}

bool IsNotEmpty(const std::string& text) {
  return !text.empty();
}

struct CallerFields {
  std::vector<std::string> roles;
  std::vector<std::string> tokens;
  std::vector<std::string> certificates;

  void Visit(ConfigVisitor& visitor) {
    visitor.TextList("roles", &roles, &IsRole, "reader, submitter, worker or admin");
    visitor.TextList("tokens", &tokens, &IsNotEmpty, "a token's hash");
    visitor.TextList("certificates", &certificates, &IsNotEmpty, "a name in a certificate");
  }
  absl::Status Validate() const {
    if (roles.empty()) {
      return absl::InvalidArgumentError("roles: got none; wanted one at least");
    }
    if (tokens.empty() && certificates.empty()) {
      return absl::InvalidArgumentError("tokens: got none, and no certificates; wanted one at least");
    }
    if (!std::all_of(tokens.begin(), tokens.end(), &IsTokenHash)) {
      // It may be a token itself, which no log should have.
      return absl::InvalidArgumentError(absl::StrCat("tokens: got a text that is no hash; wanted ", kTokenHashPrefix,
                                                     " and ", kTokenHashDigits, " hexadecimal digits"));
    }
    return absl::OkStatus();
  }
};

struct AccessFile {
  std::map<std::string, CallerFields> callers;

  void Visit(ConfigVisitor& visitor) { visitor.Map("callers", &callers); }
};

}  // namespace

absl::StatusOr<AccessList> LoadAccessList(const std::string& file) {
  WAGGLE_ASSIGN_OR_RETURN(const std::string text, ReadYamlFile(file));
  WAGGLE_ASSIGN_OR_RETURN(const YamlNode root, ParseYaml(text, file));
  ConfigErrors errors;
  ConfigReader reader(root, &errors);
  AccessFile content;
  content.Visit(reader);
  reader.Finish();
  WAGGLE_RETURN_IF_ERROR(errors.ToStatus());
  AccessList list;
  for (const auto& [name, fields] : content.callers) {
    Caller caller{name, {}};
    for (const std::string& role : fields.roles) {
      caller.roles = caller.roles | *AccessRoleOf(role);
    }
    if (absl::Status added = list.Add(caller, fields.tokens, fields.certificates); !added.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": ", added.message()));
    }
  }
  return list;
}

}  // namespace waggle
