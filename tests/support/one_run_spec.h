#pragma once

namespace batchplus::testing {

/// A spec of one run, which takes a moment.
inline constexpr const char* kOneRunSpec = R"(title = "one run"
[base]
dataset = "synthetic"
model = "mlp"
train_limit = 64
test_limit = 20
inner_batch = 32
epochs = 1
lr = 0.01
[[axis]]
name = "method"
[[axis.value]]
label = "SGD"
method = "sgd"
)";

}  // namespace batchplus::testing
