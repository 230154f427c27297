#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>

#include "util/clock.h"

namespace batchplus::kernels {

/// What a call of a kernel has to do on any machine.
struct KernelWork {
  /// Calls with the same description are added up.
  std::string description;
  /// Floating-point operations that its algorithm executes at least.
  double operations = 0;
  /// Floats that it moves at least: each pass over memory reads its inputs once and writes its outputs once.
  double floats = 0;
};

/// A description with numbers in it, as fmt::format writes them; for files that are compiled for AVX2
/// (simd.h), which should not instantiate templates that others share.
std::string describe(const char* format, std::initializer_list<int64_t> numbers);

/// Collects what the traced kernels do on this thread until the end of the scope. What a kernel calls in turn
/// is part of its call.
class KernelTrace {
 public:
  struct Totals {
    int64_t calls = 0;
    double seconds = 0;
    double operations = 0;
    double bytes = 0;
  };

  KernelTrace() : before_(active_) { active_ = this; }
  ~KernelTrace() { active_ = before_; }
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;

  /// By description.
  const std::map<std::string, Totals>& totals() const { return totals_; }

 private:
  friend class TracedCall;
  void begin_call(const KernelWork& work);
  void end_call();

  /// Whose the next call on this thread is. Nobody's while a traced one runs: that keeps inner calls out.
  static inline constinit thread_local KernelTrace* active_ = nullptr;

  KernelTrace* before_;
  std::map<std::string, Totals> totals_;
  Totals* running_ = nullptr;
  Stopwatch stopwatch_;
};

/// First in a kernel's function, makes the rest of it a traced call. describe() returns its KernelWork; it
/// runs under a trace only.
class TracedCall {
 public:
  template <class Describe>
  explicit TracedCall(const Describe& describe) : trace_(KernelTrace::active_) {
    if (trace_ != nullptr) trace_->begin_call(describe());
  }
  ~TracedCall() {
    if (trace_ != nullptr) trace_->end_call();
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

 private:
  KernelTrace* trace_;
};

}  // namespace batchplus::kernels
