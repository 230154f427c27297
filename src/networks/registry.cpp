#include "networks/registry.h"

#include <torch/utils.h>

#include "networks/mlp.h"
#include "networks/small_cnn.h"
#include "util/error.h"
#include "util/table.h"
#include "util/text.h"

namespace batchplus {

const std::vector<NetworkInfo>& networks() {
  static const std::vector<NetworkInfo> table = {
      {"mlp", "two hidden layers of 100", false,
       [](const NetworkOptions& options) {
         return Model(std::make_shared<Mlp>(Mlp::Options{
             .inputs = options.channels * options.side * options.side, .classes = options.classes}));
       }},
      {"smallcnn", "three convolutions with BatchNorm, dropout, two linear layers", true,
       [](const NetworkOptions& options) {
         SmallCnn::Options small{
             .channels = options.channels, .side = options.side, .classes = options.classes};
         small.dropout = options.dropout.value_or(small.dropout);
         return Model(std::make_shared<SmallCnn>(small));
       }},
  };
  return table;
}

const NetworkInfo& find_network(const std::string& name) {
  return find_row(networks(), name, "model", "--model");
}

Model build_network(const NetworkInfo& info, const NetworkOptions& options, uint64_t seed) {
  if (options.dropout) {
    if (!info.has_dropout && *options.dropout != 0) {
      throw Error("the model has no dropout",
                  {"--dropout", format_number(*options.dropout), "leave the option out"});
    }
    if (!(*options.dropout >= 0 && *options.dropout < 1)) {
      throw Error("not a probability",
                  {"--dropout", format_number(*options.dropout), "give a number from 0 to below 1"});
    }
  }
  torch::manual_seed(seed);
  return info.build(options);
}

int64_t count_parameters(const torch::nn::Module& module) {
  int64_t count = 0;
  for (const auto& parameter : module.parameters()) count += parameter.numel();
  return count;
}

}  // namespace batchplus
