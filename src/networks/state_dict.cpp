#include "networks/state_dict.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "formats/state_dict_file.h"
#include "util/error.h"
#include "util/first_few.h"
#include "util/text.h"

namespace batchplus {
namespace {

void collect(const torch::nn::Module& module, const std::string& prefix, StateDict& state) {
  for (const auto& item : module.named_parameters(/*recurse=*/false))
    state.emplace_back(prefix + item.key(), item.value());
  for (const auto& item : module.named_buffers(/*recurse=*/false)) {
    if (item.value().defined()) state.emplace_back(prefix + item.key(), item.value());
  }
  for (const auto& child : module.named_children())
    collect(*child.value(), prefix + child.key() + ".", state);
}

std::string without_prefix(const std::string& name) {
  constexpr std::string_view kPrefix = "module.";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

/// Names that do not fit, by what is wrong with them.
struct Problems {
  std::vector<std::string> missing;
  /// By what made them.
  std::map<std::string, std::vector<std::string>> unknown;
  std::vector<std::string> unexpected;
  std::vector<std::string> misshapen;

  void require_none(const std::string& where) const {
    std::vector<std::string> sentences;
    for (const auto& [maker, names] : unknown)
      sentences.push_back(fmt::format("{} made by {}, which is not understood", first_few(names), maker));
    if (!missing.empty()) sentences.push_back("missing " + first_few(missing));
    if (!unexpected.empty()) sentences.push_back("unexpected " + first_few(unexpected));
    if (!misshapen.empty()) sentences.push_back(first_few(misshapen));
    if (sentences.empty()) return;
    throw Error("the weights do not fit the network",
                {where, join(sentences, "; "),
                 unknown.empty() ? "check {model} and the number of classes"
                                 : "save plain tensors: torch.save(model.state_dict(), file)"});
  }
};

}  // namespace

StateDict state_dict(const torch::nn::Module& module) {
  StateDict state;
  collect(module, "", state);
  return state;
}

void load_state_dict(torch::nn::Module& module, const StateDict& state, const std::string& where,
                     const UnknownValues& unknown) {
  std::map<std::string, torch::Tensor> given;
  for (const auto& [name, tensor] : state) {
    if (!name.starts_with(kReservedPrefix)) given[without_prefix(name)] = tensor;
  }
  std::map<std::string, std::string> makers;
  for (const auto& [name, maker] : unknown) makers[without_prefix(name)] = maker;

  Problems problems;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> copies;
  for (const auto& [name, target] : state_dict(module)) {
    const auto entry = given.find(name);
    if (entry == given.end()) {
      if (name.ends_with("num_batches_tracked")) continue;
      const auto maker = makers.find(name);
      (maker == makers.end() ? problems.missing : problems.unknown[maker->second]).push_back(name);
      continue;
    }
    if (entry->second.sizes() != target.sizes()) {
      problems.misshapen.push_back(fmt::format("{} has shape [{}] instead of [{}]", name,
                                               fmt::join(entry->second.sizes(), ","),
                                               fmt::join(target.sizes(), ",")));
    }
    copies.emplace_back(target, entry->second);
    given.erase(entry);
  }
  for (const auto& [name, tensor] : state) {
    if (given.contains(without_prefix(name))) problems.unexpected.push_back(without_prefix(name));
  }
  problems.require_none(where);
  const torch::NoGradGuard no_grad;
  for (const auto& [target, source] : copies) target.copy_(source);
}

}  // namespace batchplus
