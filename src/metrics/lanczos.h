#pragma once

#include <functional>
#include <vector>

#include "core/torch.h"
#include "group/group.h"

namespace batchplus {

/// v: [d] to A v: [d] for a symmetric A.
using SymmetricProduct = std::function<torch::Tensor(const torch::Tensor& v)>;

struct LanczosOptions {
  /// How many, the largest in magnitude first.
  int64_t eigenvalues = 1;
  /// Products at most; each keeps a vector of d elements.
  int64_t max_products = 30;
  /// Stops when every error bound is below this fraction of its eigenvalue's magnitude.
  double tolerance = 0.01;
  uint64_t seed = 0;
  /// All of whose ranks ask for the same and share the products out: rank 0 says when they stop. Null: none.
  Group* group = nullptr;
};

struct Eigenvalue {
  double value = 0;
  /// A has an eigenvalue within this distance of `value`: the norm of the residual A u - value u.
  double error_bound = 0;
};

struct EigenvalueEstimate {
  /// The largest in magnitude first.
  std::vector<Eigenvalue> top;
  int64_t products = 0;
  bool is_converged = false;
};

/// The eigenvalues of largest magnitude of a symmetric A, by Lanczos's method with complete
/// reorthogonalisation (Paige 1972), from a random start. NaN when a product is not finite. `like`: [d] gives
/// size, type and device.
EigenvalueEstimate largest_eigenvalues(const torch::Tensor& like, const SymmetricProduct& product,
                                       const LanczosOptions& options);

}  // namespace batchplus
