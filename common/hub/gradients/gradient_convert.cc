#include "common/hub/gradients/gradient_convert.h"

#include "absl/strings/str_cat.h"
#include "common/base/annotate.h"
#include "common/base/status_macros.h"
#include "common/base/tensor/array_spec.h"
#include "common/hub/hub_convert.h"

namespace waggle {
namespace {

constexpr int kMaxGroups = 256;
constexpr uint64_t kMaxElements = uint64_t{1} << 32;  // In one gradient: 16 GiB.

}  // namespace

v1::GradientHeader ToProto(const GradientPush& push) {
  v1::GradientHeader proto;
  proto.set_network_hash(push.model.network_hash);
  for (const GradientGroup& group : push.model.groups) {
    v1::GradientGroup* const out = proto.add_groups();
    out->set_name(group.name);
    out->set_elements(static_cast<uint64_t>(group.elements));
  }
  for (const GradientMember& member : push.members) {
    v1::GradientMember* const out = proto.add_members();
    out->set_worker_id(member.worker_id);
    out->set_life(member.life);
    out->set_sequence(member.sequence);
    *out->mutable_based_on() = ToProto(member.based_on);
    out->set_acknowledged(member.acknowledged);
    out->set_applied(member.applied);
  }
  proto.set_total_bytes(static_cast<uint64_t>(push.model.NumElements()) * sizeof(float));
  return proto;
}

absl::StatusOr<GradientPush> FromProto(const v1::GradientHeader& proto) {
  GradientPush push;
  push.model.network_hash = proto.network_hash();
  if (proto.groups_size() < 1 || proto.groups_size() > kMaxGroups) {
    return absl::InvalidArgumentError(
        absl::StrCat("a gradient of ", proto.groups_size(), " groups; wanted 1 to ", kMaxGroups));
  }
  uint64_t elements = 0;
  for (const v1::GradientGroup& group : proto.groups()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(group.name()), "group"));
    if (group.elements() > kMaxElements || elements + group.elements() > kMaxElements) {
      return absl::InvalidArgumentError(absl::StrCat("a gradient of more than ", kMaxElements, " numbers"));
    }
    elements += group.elements();
    push.model.groups.push_back({group.name(), static_cast<int64_t>(group.elements())});
  }
  if (elements == 0 || proto.total_bytes() != elements * sizeof(float)) {
    return absl::InvalidArgumentError(absl::StrCat("the groups have ", elements, " numbers, and ", proto.total_bytes(),
                                                   " bytes are announced; wanted 4 a number, and at least one"));
  }
  if (proto.members_size() < 1 || static_cast<size_t>(proto.members_size()) > kMaxGradientMembers) {
    return absl::InvalidArgumentError(
        absl::StrCat("a gradient of ", proto.members_size(), " members; wanted 1 to ", kMaxGradientMembers));
  }
  for (const v1::GradientMember& member : proto.members()) {
    WAGGLE_RETURN_IF_ERROR(Annotate(ValidateName(member.worker_id()), "worker_id"));
    push.members.push_back({member.worker_id(), member.life(), member.sequence(), FromProto(member.based_on()),
                            member.acknowledged(), member.applied()});
  }
  return push;
}

v1::PushGradientResponse ToProto(const GradientAnswer& answer) {
  v1::PushGradientResponse proto;
  proto.set_send_singly(answer.send_singly);
  for (const GradientResult& result : answer.results) {
    v1::GradientResult* const out = proto.add_results();
    // The wire's numbers are one larger: its 0 is no verdict.
    out->set_verdict(static_cast<v1::GradientVerdict>(static_cast<int>(result.verdict) + 1));
    *out->mutable_version() = ToProto(result.version);
    out->set_message(result.message);
  }
  return proto;
}

absl::StatusOr<GradientAnswer> FromProto(const v1::PushGradientResponse& proto, size_t members) {
  GradientAnswer answer;
  answer.send_singly = proto.send_singly();
  if (static_cast<size_t>(proto.results_size()) != (answer.send_singly ? 0 : members) ||
      (answer.send_singly && members == 1)) {
    return absl::InvalidArgumentError(absl::StrCat(proto.results_size(), " results",
                                                   answer.send_singly ? ", to be sent singly," : "",
                                                   " for a gradient of ", members, " members"));
  }
  for (const v1::GradientResult& result : proto.results()) {
    if (result.verdict() < v1::GRADIENT_VERDICT_APPLIED || result.verdict() > v1::GRADIENT_VERDICT_TRAINING_OVER) {
      return absl::InvalidArgumentError(absl::StrCat("verdict ", static_cast<int>(result.verdict()), " is unknown"));
    }
    answer.results.push_back({static_cast<GradientVerdict>(static_cast<int>(result.verdict()) - 1),
                              FromProto(result.version()), result.message()});
  }
  return answer;
}

}  // namespace waggle
