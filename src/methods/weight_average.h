#pragma once

#include <vector>

#include "core/flat_parameters.h"
#include "core/named_tensors.h"

namespace batchplus {

/// The exponential moving average of a network's weights w_t over its inner steps (Polyak and Juditsky 1992
/// have the plain mean):
///   a_0 = w_0;  a_t = decay a_{t-1} + (1 - decay) w_t
/// BatchNorm's running statistics are averaged with the weights that they belong to. Costs two passes over
/// memory a step and no gradient; training does not see it.
class WeightAverage {
 public:
  /// Begins with the present weights. The module and its parameters outlive the average.
  WeightAverage(const torch::nn::Module& module, const FlatParameters& parameters, double decay);

  /// Takes in the present weights.
  void add();

  /// The averages, defined since construction.
  NamedTensors state() const;

  /// Puts the averages in the place of the weights until the end of the scope.
  class InPlace {
   public:
    explicit InPlace(const WeightAverage& average);
    ~InPlace();
    InPlace(const InPlace&) = delete;
    InPlace& operator=(const InPlace&) = delete;

   private:
    const WeightAverage& average_;
    std::vector<torch::Tensor> weights_;
  };

 private:
  /// The weights as one vector, or a buffer of floats.
  struct Entry {
    std::string name;
    torch::Tensor present;
    torch::Tensor average;
  };
  std::vector<Entry> entries_;
  double decay_;
};

}  // namespace batchplus
