#include "metrics/random_vectors.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "core/random_stream.h"

namespace batchplus {

RandomVectors::RandomVectors(uint64_t seed, Use use, torch::Tensor like)
    : seed_(seed), use_(use), like_(std::move(like)) {}

at::Generator RandomVectors::generator(int64_t number) const {
  RandomStream stream(seed_, RandomPurpose::kMeasurement, static_cast<uint64_t>(use_),
                      static_cast<uint64_t>(number));
  return at::make_generator<at::CPUGeneratorImpl>(stream.next_u64());
}

torch::Tensor RandomVectors::gaussian(int64_t number) const {
  return at::randn({like_.numel()}, generator(number), at::TensorOptions(like_.scalar_type()))
      .to(like_.device());
}

torch::Tensor RandomVectors::signs(int64_t number) const {
  const torch::Tensor bits =
      at::randint(2, {like_.numel()}, generator(number), at::TensorOptions(like_.scalar_type()));
  return bits.mul_(2).sub_(1).to(like_.device());
}

}  // namespace batchplus
