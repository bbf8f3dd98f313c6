#include "actor/environments/builtin/spread.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "actor/environments/element_access.h"
#include "common/base/check.h"

namespace waggle {
namespace {

constexpr int64_t kNumActions = 5;
constexpr double kPush = 5;  // The force of an action. All masses are 1.
constexpr double kTimeStep = 0.1;
constexpr double kDamping = 0.25;  // The share of the velocity that is lost in a step.
constexpr double kAgentRadius = 0.15;
constexpr double kTouchingDistance = kAgentRadius + kAgentRadius;
constexpr double kContactForce = 100;
constexpr double kContactMargin = 0.001;  // The length over which contact begins.

// As NumPy computes it, log(1 + exp(x)).
double SoftPlus(double x) {
  if (x == 0) {
    return M_LN2;
  }
  return x < 0 ? std::log1p(std::exp(x)) : x + std::log1p(std::exp(-x));
}

double Distance(const Spread::Point& a, const Spread::Point& b) {
  const double x = a.x - b.x;
  const double y = a.y - b.y;
  return std::sqrt(x * x + y * y);
}

// One Euler step of a coordinate, in mpe2's order of operations: the position moves by the velocity before the step.
void Integrate(double force, double* position, double* velocity) {
  *position += *velocity * kTimeStep;
  *velocity = *velocity * (1 - kDamping) + force * kTimeStep;
}

}  // namespace

void SpreadSettings::Visit(ConfigVisitor& visitor) {
  visitor.Int("agents", &agents, In(1, 32));
  visitor.Double("local_ratio", &local_ratio, In(0, 1));
  visitor.Int("max_episode_steps", &max_episode_steps, In(1, kMostEpisodeSteps));
}

EnvironmentSpec Spread::Spec(const Settings& settings) {
  EnvironmentSpec spec;
  spec.name = "Spread-v0";
  spec.rewards.clear();
  for (int64_t i = 0; i < settings.agents; ++i) {
    const std::string agent = absl::StrCat("agent_", i, "/");
    spec.observations.push_back(Box(agent + kObservationRoot, DType::kFloat32, {4 * settings.agents + 2}));
    spec.actions.push_back(Discrete(agent + kActionRoot, kNumActions));
    spec.rewards.push_back(ArraySpec{agent + kRewardRoot, DType::kFloat32, {}});
  }
  spec.max_episode_steps = settings.max_episode_steps;
  return spec;
}

Spread::Spread(const Settings& settings, uint64_t seed)
    : EpisodicEnvironment(Spec(settings)), local_ratio_(settings.local_ratio), rng_(seed) {
  const auto agents = static_cast<size_t>(settings.agents);
  state_ = {std::vector<Point>(agents), std::vector<Point>(agents), std::vector<Point>(agents)};
  forces_.resize(agents);
  shown_.resize(4 * agents + 2);
}

void Spread::ResetTo(const State& state, absl::Span<void* const> observations) {
  WAGGLE_CHECK(state.positions.size() == forces_.size() && state.velocities.size() == forces_.size() &&
                   state.landmarks.size() == forces_.size(),
               "a state has as many points of each sort as there are agents");
  BeginEpisode();
  state_ = state;
  Show(observations);
}

void Spread::Start(absl::Span<void* const> observations) {
  for (std::vector<Point>* points : {&state_.positions, &state_.landmarks}) {
    for (Point& point : *points) {
      point.x = rng_.Uniform(-1, 1);
      point.y = rng_.Uniform(-1, 1);
    }
  }
  std::fill(state_.velocities.begin(), state_.velocities.end(), Point());
  Show(observations);
}

bool Spread::Advance(absl::Span<const void* const> actions, absl::Span<void* const> observations, float* rewards) {
  constexpr Point kPushes[kNumActions] = {{0, 0}, {-kPush, 0}, {kPush, 0}, {0, -kPush}, {0, kPush}};
  for (size_t i = 0; i < forces_.size(); ++i) {
    forces_[i] = kPushes[ElementAt<int64_t>(actions[i])];
  }
  AddContactForces();
  for (size_t i = 0; i < forces_.size(); ++i) {
    Integrate(forces_[i].x, &state_.positions[i].x, &state_.velocities[i].x);
    Integrate(forces_[i].y, &state_.positions[i].y, &state_.velocities[i].y);
  }
  WriteRewards(rewards);
  Show(observations);
  return false;
}

void Spread::AddContactForces() {
  for (size_t a = 0; a < forces_.size(); ++a) {
    for (size_t b = a + 1; b < forces_.size(); ++b) {
      const double distance = Distance(state_.positions[a], state_.positions[b]);
      if (distance == 0) {
        continue;  // At one position there is no direction to push in.
      }
      const double penetration = SoftPlus(-(distance - kTouchingDistance) / kContactMargin) * kContactMargin;
      const double x = kContactForce * (state_.positions[a].x - state_.positions[b].x) / distance * penetration;
      const double y = kContactForce * (state_.positions[a].y - state_.positions[b].y) / distance * penetration;
      forces_[a].x += x;
      forces_[a].y += y;
      forces_[b].x -= x;
      forces_[b].y -= y;
    }
  }
}

void Spread::WriteRewards(float* rewards) const {
  double distances = 0;
  for (const Point& landmark : state_.landmarks) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const Point& position : state_.positions) {
      nearest = std::min(nearest, Distance(position, landmark));
    }
    distances += nearest;
  }
  for (size_t i = 0; i < state_.positions.size(); ++i) {
    double collisions = 0;
    for (size_t other = 0; other < state_.positions.size(); ++other) {
      collisions += other != i && Distance(state_.positions[other], state_.positions[i]) < kTouchingDistance ? 1 : 0;
    }
    rewards[i] = static_cast<float>(-distances * (1 - local_ratio_) - collisions * local_ratio_);
  }
}

void Spread::Show(absl::Span<void* const> observations) {
  for (size_t i = 0; i < state_.positions.size(); ++i) {
    size_t size = 0;
    const auto add = [this, &size](double x, double y) {
      shown_[size++] = static_cast<float>(x);
      shown_[size++] = static_cast<float>(y);
    };
    const Point& own = state_.positions[i];
    add(state_.velocities[i].x, state_.velocities[i].y);
    add(own.x, own.y);
    for (const Point& landmark : state_.landmarks) {
      add(landmark.x - own.x, landmark.y - own.y);
    }
    for (size_t other = 0; other < state_.positions.size(); ++other) {
      if (other != i) {
        add(state_.positions[other].x - own.x, state_.positions[other].y - own.y);
      }
    }
    std::memcpy(observations[i], shown_.data(), shown_.size() * sizeof(float));
  }
}

absl::StatusOr<Picture> Spread::Draw() const {
  Picture picture({-1.5, 1.5, -1.5, 1.5}, absl::Seconds(kTimeStep));
  for (const Point& position : state_.positions) {
    picture.DrawDisc({position.x, position.y}, kAgentRadius, kBlue);
  }
  for (const Point& landmark : state_.landmarks) {
    picture.DrawDisc({landmark.x, landmark.y}, 0.05, kInk);
  }
  return picture;
}

}  // namespace waggle
