#include "tests/bench/bare_learners.h"

#include <torch/nn.h>
#include <torch/optim.h>

#include <cmath>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "common/nn/network.h"
#include "common/nn/optimizer.h"
#include "common/rl/algorithms/apex_dqn/apex_dqn.h"
#include "common/rl/algorithms/ppo/ppo.h"
#include "common/rl/algorithms/sac/sac.h"
#include "tests/bench/must.h"

namespace waggle::bench {
namespace {

using torch::Tensor;

// LibTorch's modules for these layers.
torch::nn::Sequential Modules(const NetworkPlan& plan, const std::vector<LayerPlan>& layers) {
  torch::nn::Sequential modules;
  for (const LayerPlan& layer : layers) {
    const bool is_conv = layer.kind == LayerPlan::Kind::kConv;
    WAGGLE_CHECK(is_conv || layer.kind == LayerPlan::Kind::kDense, "these networks have dense layers and convolutions");
    std::vector<int64_t> shape = plan.parameters[static_cast<size_t>(layer.weight)].shape;
    if (plan.members.has_value()) {
      shape.erase(shape.begin());
    }
    if (is_conv) {
      modules->push_back(torch::nn::Conv2d(
          torch::nn::Conv2dOptions(shape[1], shape[0], shape[2]).stride(layer.stride).padding(layer.padding)));
    } else {
      if (&layer != layers.data() && (&layer - 1)->kind == LayerPlan::Kind::kConv) {
        modules->push_back(torch::nn::Flatten());
      }
      modules->push_back(torch::nn::Linear(shape[1], shape[0]));
    }
    if (layer.activation == Activation::kRelu) {
      modules->push_back(torch::nn::ReLU());
    } else if (layer.activation == Activation::kTanh) {
      modules->push_back(torch::nn::Tanh());
    }
  }
  return modules;
}

// A network with one trunk and one head.
torch::nn::Sequential Modules(const Setting& setting, const NetworkPlan& plan) {
  std::vector<LayerPlan> layers = plan.trunks[0].torso;
  layers.insert(layers.end(), plan.heads[0].layers.begin(), plan.heads[0].layers.end());
  torch::nn::Sequential modules = Modules(plan, layers);
  modules->to(setting.device);
  return modules;
}

// target <- rate * online + (1 - rate) * target.
void Follow(const std::vector<Tensor>& online, const std::vector<Tensor>& target, double rate) {
  const torch::NoGradGuard no_grad;
  for (size_t i = 0; i < target.size(); ++i) {
    target[i].lerp_(online[i], rate);
  }
}

// Takes a loss, and steps down its gradient.
using Descend = std::function<void(const Tensor& loss)>;

Descend DescendByAdam(const std::vector<Tensor>& parameters, const OptimizerOptions& options) {
  const auto optimizer = std::make_shared<torch::optim::Adam>(
      parameters, torch::optim::AdamOptions(options.learning_rate.At(Progress())).eps(options.epsilon));
  const double norm = options.gradient_clip_norm;
  return [=](const Tensor& loss) {
    optimizer->zero_grad();
    loss.backward();
    if (norm > 0) {
      torch::nn::utils::clip_grad_norm_(parameters, norm);
    }
    optimizer->step();
  };
}

Descend DescendFlat(const std::shared_ptr<Network>& network, const OptimizerOptions& options) {
  const std::shared_ptr<Optimizer> optimizer = Must(NewOptimizer(options, network->parameters().values()));
  const double learning_rate = options.learning_rate.At(Progress());
  return [=](const Tensor& loss) {
    Tensor gradients = network->parameters().gradients();
    gradients.zero_();
    loss.backward();
    Must(optimizer->Step(network->parameters().values(), gradients, learning_rate));
  };
}

struct DqnNetwork {
  std::function<Tensor(const Tensor&observation)> online, target;  // The values of all actions.
  Descend descend;
  std::function<void()> follow;
};

Learner Dqn(const DqnNetwork& network, const ApexDqnOptions& options) {
  const double discount = std::pow(options.discount, options.n_step);
  return [=](const TensorBatch& batch) {
    const Tensor& next = batch.at("next_observation");
    Tensor goal;
    {
      const torch::NoGradGuard no_grad;
      const Tensor best = network.online(next).argmax(1, /*keepdim=*/true);
      goal = batch.at(kReward).sum(1) + discount * network.target(next).gather(1, best).squeeze(1);
    }
    const Tensor q = network.online(batch.at(kObservation)).gather(1, batch.at(kAction).unsqueeze(1)).squeeze(1);
    network.descend(torch::huber_loss(q, goal));
    network.follow();
  };
}

struct PpoNetwork {
  struct Outputs {
    Tensor logits;  // [T * rows, choices].
    Tensor value;   // [T * rows].
  };
  // observation [T, rows, …], state [rows, …].
  std::function<Outputs(const Tensor& observation, const Tensor& state)> forward;
  Descend descend;
};

// Generalised advantages of an unroll without ends, [T, rows].
Tensor AdvantagesOf(const Tensor& reward, const Tensor& discount, const Tensor& value, double lambda) {
  Tensor advantage = torch::empty_like(reward);
  Tensor sum = torch::zeros_like(reward[0]);
  for (int64_t t = reward.size(0) - 1; t >= 0; --t) {
    sum = reward[t] + discount[t] * value[t + 1] - value[t] + discount[t] * lambda * sum;
    advantage[t] = sum;
  }
  return advantage;
}

Learner Ppo(const PpoNetwork& network, const PpoOptions& options) {
  const double clip = options.clip.At(Progress());
  const double entropy_weight = options.entropy.weight.At(Progress());
  return [=](const TensorBatch& batch) {
    const Tensor all = batch.at(kObservation).transpose(0, 1);  // [T + 1, rows, …].
    const int64_t length = all.size(0) - 1;
    const int64_t rows = all.size(1);
    const auto steps = [&](const Tensor& by_time) { return by_time.narrow(0, 0, length); };
    const auto column = [&](const char* name) { return steps(batch.at(name).transpose(0, 1)); };
    const Tensor& state = batch.at(kCoreState);
    Tensor advantages;
    Tensor targets;
    {
      const torch::NoGradGuard no_grad;
      const Tensor value = network.forward(all, state).value.view({length + 1, rows});
      advantages = AdvantagesOf(column(kReward), column(kDiscount) * options.discount, value, options.lambda);
      targets = advantages + steps(value);
    }
    for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
      for (const Tensor& chosen :
           torch::randperm(rows, state.options().dtype(torch::kInt64)).tensor_split(options.minibatches)) {
        const auto of = [&](const Tensor& field) { return field.index_select(1, chosen).flatten(); };
        const PpoNetwork::Outputs out =
            network.forward(steps(all).index_select(1, chosen), state.index_select(0, chosen));
        const Tensor log_probs = out.logits.log_softmax(-1);
        const Tensor log_prob = log_probs.gather(-1, of(column(kAction)).unsqueeze(-1)).squeeze(-1);
        const Tensor ratio = (log_prob - of(column("log_prob"))).exp();
        Tensor advantage = of(advantages);
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8);
        const Tensor surrogate = torch::min(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean();
        const Tensor value_loss = (out.value - of(targets)).square().mean();
        const Tensor entropy = -(log_probs.exp() * log_probs).sum(-1).mean();
        network.descend(options.value_weight * value_loss - surrogate - entropy_weight * entropy);
      }
    }
  };
}

// A head with its own layers and LSTM.
struct RecurrentHead {
  torch::nn::Sequential torso;
  torch::nn::LSTM core;
  torch::nn::Sequential output;
  int64_t state = 0;  // The index of its state: its output, then its cell.
  int64_t units = 0;

  Tensor Forward(const Tensor& observation, const Tensor& all_states) {
    const auto part = [&](int64_t begin) {
      return all_states.narrow(1, state + begin, units).unsqueeze(0).contiguous();
    };
    const Tensor features =
        std::get<0>(core->forward(torso->forward(observation), std::make_tuple(part(0), part(units))));
    return output->forward(features).flatten(0, 1);
  }
};

RecurrentHead NewRecurrentHead(const NetworkPlan& plan, const HeadPlan& head, torch::Device device) {
  const TrunkPlan& trunk = plan.trunks[head.trunk];
  const int64_t units = trunk.cores[0].units;
  RecurrentHead made{Modules(plan, trunk.torso), torch::nn::LSTM(trunk.torso.back().output_shape[0], units),
                     Modules(plan, head.layers), trunk.cores[0].state, units};
  made.torso->to(device);
  made.core->to(device);
  made.output->to(device);
  return made;
}

}  // namespace

Learner DqnByModules(const Setting& setting) {
  const auto& options = setting.options<ApexDqnOptions>();
  const auto forward = [](torch::nn::Sequential modules) {
    return [modules](const Tensor& observation) mutable {
      return modules->forward(observation.scalar_type() == torch::kUInt8 ? observation.to(torch::kFloat32).div_(255)
                                                                         : observation);
    };
  };
  torch::nn::Sequential online = Modules(setting, *setting.plan.acting()[0]);
  torch::nn::Sequential target = Modules(setting, *setting.plan.acting()[0]);
  const double rate = options.EffectiveTargetUpdateRate();
  return Dqn({forward(online), forward(target), DescendByAdam(online->parameters(), options.optimizer),
              [=, from = online->parameters(), to = target->parameters()] { Follow(from, to, rate); }},
             options);
}

Learner DqnByFlatBuffers(const Setting& setting) {
  const auto& options = setting.options<ApexDqnOptions>();
  const auto network = [&](bool learns) -> std::shared_ptr<Network> {
    return Must(Network::Create(*setting.plan.acting()[0], setting.device, 1, torch::kFloat32, learns));
  };
  const auto forward = [](const std::shared_ptr<Network>& net) {
    return [net](const Tensor& observation) {
      return net->Forward({observation}, {}, {}, ForwardPass::kByAutograd)[0].values;
    };
  };
  const auto online = network(/*learns=*/true);
  const auto target = network(/*learns=*/false);
  const double rate = options.EffectiveTargetUpdateRate();
  return Dqn({forward(online), forward(target), DescendFlat(online, options.optimizer),
              [=] { Follow({online->parameters().values()}, {target->parameters().values()}, rate); }},
             options);
}

Learner PpoByModules(const Setting& setting) {
  const auto& options = setting.options<PpoOptions>();
  const NetworkPlan& plan = *setting.plan.acting()[0];
  RecurrentHead policy = NewRecurrentHead(plan, *plan.FindHead("policy"), setting.device);
  RecurrentHead value = NewRecurrentHead(plan, *plan.FindHead("value"), setting.device);
  std::vector<Tensor> parameters;
  for (const RecurrentHead& head : {policy, value}) {
    for (const auto& part : {head.torso->parameters(), head.core->parameters(), head.output->parameters()}) {
      parameters.insert(parameters.end(), part.begin(), part.end());
    }
  }
  return Ppo(
      {[=](const Tensor& observation, const Tensor& state) mutable {
         return PpoNetwork::Outputs{policy.Forward(observation, state), value.Forward(observation, state).squeeze(-1)};
       },
       DescendByAdam(parameters, options.optimizer)},
      options);
}

Learner PpoByFlatBuffers(const Setting& setting) {
  const auto& options = setting.options<PpoOptions>();
  const std::shared_ptr<Network> network = Must(Network::Create(*setting.plan.acting()[0], setting.device, 1));
  const auto head = [&network](const char* name) {
    return static_cast<size_t>(network->plan().FindHead(name) - network->plan().heads.data());
  };
  return Ppo(
      {[network, policy = head("policy"), value = head("value")](const Tensor& observation, const Tensor& state) {
         const auto heads =
             network->Unroll({observation.flatten(0, 1)}, {}, state, {}, {}, ForwardPass::kByAutograd).heads;
         return PpoNetwork::Outputs{heads[policy].values, heads[value].values.squeeze(-1)};
       },
       DescendFlat(network, options.optimizer)},
      options);
}

Learner SacByModules(const Setting& setting) {
  const auto& options = setting.options<SacOptions>();
  torch::nn::Sequential actor = Modules(setting, setting.plan.networks[0]);
  std::vector<torch::nn::Sequential> critics, targets;
  std::vector<Tensor> critic_parameters, target_parameters;
  for (int64_t i = 0; i < options.critics; ++i) {
    for (auto [modules, parameters] : {std::tie(critics, critic_parameters), std::tie(targets, target_parameters)}) {
      modules.push_back(Modules(setting, setting.plan.networks[1]));
      const std::vector<Tensor> more = modules.back()->parameters();
      parameters.insert(parameters.end(), more.begin(), more.end());
    }
  }
  const Tensor log_alpha = torch::zeros({}, setting.device).requires_grad_();
  const Descend descend_critics = DescendByAdam(critic_parameters, options.critic_optimizer);
  const Descend descend_actor = DescendByAdam(actor->parameters(), options.actor_optimizer);
  const Descend descend_alpha = DescendByAdam({log_alpha}, options.temperature_optimizer);
  auto draw = [actor](const Tensor& observation) mutable {
    const std::vector<Tensor> out = actor->forward(observation).chunk(2, -1);
    const Tensor log_std = out[1].clamp(-20, 2);
    const Tensor noise = torch::randn_like(log_std);
    const Tensor before = out[0] + log_std.exp() * noise;
    const Tensor normal = -0.5 * noise.square() - log_std - 0.5 * std::log(2 * M_PI);
    const Tensor slope = 2 * (std::log(2) - before - torch::softplus(-2 * before));  // log (1 - tanh²).
    return std::make_pair(before.tanh(), (normal - slope).sum(-1));
  };
  const auto values = [](std::vector<torch::nn::Sequential>* nets, const Tensor& observation, const Tensor& action) {
    std::vector<Tensor> all;
    for (torch::nn::Sequential& net : *nets) {
      all.push_back(net->forward(torch::cat({observation, action}, -1)).squeeze(-1));
    }
    return torch::stack(all);
  };
  const double elements = static_cast<double>(setting.environment.actions[0].array.NumElements());
  return [=](const TensorBatch& batch) mutable {
    const Tensor& observation = batch.at(kObservation);
    const Tensor& next = batch.at("next_observation");
    const Tensor alpha = log_alpha.detach().exp();
    Tensor goal;
    {
      const torch::NoGradGuard no_grad;
      const auto [action, log_prob] = draw(next);
      const Tensor value = std::get<0>(values(&targets, next, action).min(0)) - alpha * log_prob;
      goal = batch.at(kReward).select(1, 0) + options.discount * batch.at(kDiscount).select(1, 0) * value;
    }
    descend_critics(0.5 * (values(&critics, observation, batch.at(kAction)) - goal).square().mean(1).sum());
    const auto [action, log_prob] = draw(observation);
    descend_actor((alpha * log_prob - std::get<0>(values(&critics, observation, action).min(0))).mean());
    descend_alpha(-(log_alpha * (log_prob.detach() - elements)).mean());
    Follow(critic_parameters, target_parameters, options.target_update_rate);
  };
}

}  // namespace waggle::bench
