#include "kernels/trace.h"

#include <fmt/args.h>
#include <fmt/format.h>

namespace batchplus::kernels {

std::string describe(const char* format, std::initializer_list<int64_t> numbers) {
  fmt::dynamic_format_arg_store<fmt::format_context> arguments;
  for (const int64_t number : numbers) arguments.push_back(number);
  return fmt::vformat(format, arguments);
}

void KernelTrace::begin_call(const KernelWork& work) {
  running_ = &totals_[work.description];
  running_->calls += 1;
  running_->operations += work.operations;
  running_->bytes += work.floats * sizeof(float);
  active_ = nullptr;
  stopwatch_ = Stopwatch();
}

void KernelTrace::end_call() {
  running_->seconds += stopwatch_.seconds();
  active_ = this;
}

}  // namespace batchplus::kernels
