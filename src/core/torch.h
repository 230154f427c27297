#pragma once

// The part of libtorch that most files need, precompiled once for all targets: torch/torch.h costs 17 s a
// file.

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>
#include <torch/types.h>
