#pragma once

#include <gtest/gtest.h>

#include <string>

namespace batchplus::testing {

/// Two methods on two networks, with everything that a spec may have.
inline const std::string kSpec = R"(title = "example"
equal_budget = "method"

[base]
dataset = "synthetic"
epochs = 10
inner_batch = 32
repeats = 3

[[axis]]
name = "network"
  [[axis.value]]
  label = "two-layer"
  model = "mlp"
  [[axis.value]]
  label = "small"
  model = "smallcnn"

[[axis]]
name = "method"
  [[axis.value]]
  label = "BP-SVRG"
  method = "bp-svrg"
  [[axis.value]]
  label = "NAG"
  method = "nag"
  lr = 0.1
  epochs_times = 1.5

[choose]
key = "lr"
values = [0.5, 1.0]
when = { method = "BP-SVRG" }
by = "test_accuracy"

[[override]]
when = { network = "small" }
epochs = 20
weight_decay = 1e-4

[published]
"small/NAG" = [90.0, 0.5]

[scale.paper]

[scale.smoke]
epochs_times = 0.1
repeats = 1
train_limit = 320
only = { network = "small" }
)";

/// The same with a part replaced.
inline std::string with(const std::string& what, const std::string& by) {
  std::string text = kSpec;
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

}  // namespace batchplus::testing
