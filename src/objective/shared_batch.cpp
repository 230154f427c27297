#include "objective/shared_batch.h"

#include <ATen/ATen.h>

namespace batchplus {

class SharedBatch::Share : public kernels::SampleShare {
 public:
  Share(int64_t samples, const Sharing& sharing)
      : SampleShare(samples, sharing.group->rank(), sharing.group->size(), sharing.sums, sharing.moments),
        group_(*sharing.group) {}

  void add(float* sums, int64_t count) override { group_.sum(sums, count); }
  void add(double* sums, int64_t count) override { group_.sum(sums, count); }
  void gather(void* all, int64_t count, int64_t bytes_each) override {
    group_.gather(all, count, bytes_each);
  }
  void broadcast(float* values, int64_t count) override {
    group_.broadcast(values, count * static_cast<int64_t>(sizeof(float)));
  }

 private:
  Group& group_;
};

SharedBatch::SharedBatch(const Batch& batch, const Sharing& sharing) : sharing_(sharing), own_(batch) {
  if (sharing.group == nullptr || sharing.group->is_solo()) return;
  // A few samples take every rank less time than meeting does.
  if (!Share::is_possible(batch.size(), sharing.group->size(), sharing.sums)) return;
  share_ = std::make_unique<Share>(batch.size(), sharing);
  scope_.emplace(share_.get());
  const auto mine = [&](const torch::Tensor& all) {
    return all.defined() ? all.slice(0, share_->begin(batch.size()), share_->end(batch.size())) : all;
  };
  own_.images = mine(batch.images);
  own_.labels = mine(batch.labels);
  own_.partner_labels = mine(batch.partner_labels);
}

SharedBatch::~SharedBatch() = default;

std::unique_ptr<GradientSum> SharedBatch::sum(const FlatParameters& parameters,
                                              const torch::Tensor& gradient) const {
  if (!share_ || share_->is_exact()) return nullptr;
  return std::make_unique<GradientSum>(*sharing_.group, parameters, gradient, sharing_.early_elements);
}

void SharedBatch::share_statistics(const torch::nn::Module& module) const {
  if (!share_ || !share_->has_own_moments()) return;
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> running;
  for (const torch::Tensor& buffer : module.buffers()) {
    if (buffer.is_floating_point()) running.push_back(buffer);
  }
  if (running.empty()) return;
  const torch::Tensor all = at::flatten_dense_tensors(running);
  share_->broadcast(all.data_ptr<float>(), all.numel());
  const std::vector<torch::Tensor> of_first = at::unflatten_dense_tensors(all, running);
  for (size_t i = 0; i < running.size(); ++i) running[i].copy_(of_first[i]);
}

}  // namespace batchplus
