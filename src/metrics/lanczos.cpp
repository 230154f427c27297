#include "metrics/lanczos.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/random_vectors.h"
#include "util/error.h"

namespace batchplus {
namespace {

double inner_product(const torch::Tensor& a, const torch::Tensor& b) {
  return (a * b).sum(torch::kFloat64).item<double>();
}

/// Takes the components along the first `count` rows of the orthonormal basis: [m,d] out of v: [d], twice,
/// because once leaves rounding behind.
void orthogonalize(const torch::Tensor& v, const torch::Tensor& basis, int64_t count) {
  const torch::Tensor rows = basis.slice(0, 0, count);
  for (int pass = 0; pass < 2; ++pass) v.sub_(rows.t().mv(rows.mv(v)));
}

/// The Ritz values of the tridiagonal matrix, the largest in magnitude first. `next_off_diagonal` belongs to
/// the vector that comes next: times a Ritz vector's last component it is the residual.
std::vector<Eigenvalue> ritz_values(const std::vector<double>& diagonal,
                                    const std::vector<double>& off_diagonal, double next_off_diagonal) {
  const auto size = static_cast<int64_t>(diagonal.size());
  const torch::Tensor matrix = torch::zeros({size, size}, torch::kFloat64);
  auto entries = matrix.accessor<double, 2>();
  for (int64_t i = 0; i < size; ++i) entries[i][i] = diagonal[i];
  for (int64_t i = 0; i + 1 < size; ++i) entries[i][i + 1] = entries[i + 1][i] = off_diagonal[i];
  const auto [values, vectors] = at::linalg_eigh(matrix);
  std::vector<Eigenvalue> ritz;
  for (int64_t i = 0; i < size; ++i) {
    ritz.push_back(
        {values[i].item<double>(), std::abs(next_off_diagonal * vectors[size - 1][i].item<double>())});
  }
  std::sort(ritz.begin(), ritz.end(),
            [](const Eigenvalue& a, const Eigenvalue& b) { return std::abs(a.value) > std::abs(b.value); });
  return ritz;
}

/// What rank 0 found. Others may have found otherwise, by other instructions or another number of threads.
bool agreed(bool is_so, Group* group) {
  if (group != nullptr) group->broadcast(&is_so, sizeof is_so);
  return is_so;
}

}  // namespace

EigenvalueEstimate largest_eigenvalues(const torch::Tensor& like, const SymmetricProduct& product,
                                       const LanczosOptions& options) {
  const torch::NoGradGuard no_grad;
  const int64_t size = like.numel();
  BATCHPLUS_CHECK(options.eigenvalues <= size && options.eigenvalues <= options.max_products,
                  "a basis of that size holds the eigenvalues");
  const int64_t most = std::min(options.max_products, size);
  const RandomVectors random(options.seed, RandomVectors::Use::kLanczos, like);
  const torch::Tensor basis = torch::empty({most, size}, like.options());
  std::vector<double> diagonal;
  std::vector<double> off_diagonal;
  EigenvalueEstimate estimate;
  torch::Tensor next = random.gaussian(0);
  next /= std::sqrt(inner_product(next, next));
  // What rounding leaves of a vector that lies in the space already spanned, relative to the largest
  // eigenvalue.
  const double breakdown = like.scalar_type() == torch::kFloat64 ? 1e-10 : 1e-5;
  for (int64_t j = 0; j < most; ++j) {
    basis[j].copy_(next);
    next = product(basis[j]).clone();
    ++estimate.products;
    diagonal.push_back(inner_product(next, basis[j]));
    if (agreed(!std::isfinite(diagonal.back()), options.group)) {
      const double unknown = std::numeric_limits<double>::quiet_NaN();
      estimate.top.assign(1, {unknown, unknown});
      estimate.is_converged = false;
      return estimate;
    }
    orthogonalize(next, basis, j + 1);
    double length = std::sqrt(inner_product(next, next));
    double scale = length;
    for (const double entry : diagonal) scale = std::max(scale, std::abs(entry));
    const bool is_invariant = length <= breakdown * scale;
    if (is_invariant) length = 0;

    const auto ritz = ritz_values(diagonal, off_diagonal, j + 1 == size ? 0 : length);
    const auto wanted = std::min<size_t>(static_cast<size_t>(options.eigenvalues), ritz.size());
    estimate.top.assign(ritz.begin(), ritz.begin() + static_cast<std::ptrdiff_t>(wanted));
    const bool is_known = static_cast<int64_t>(wanted) == options.eigenvalues &&
                          std::all_of(estimate.top.begin(), estimate.top.end(), [&](const Eigenvalue& e) {
                            return e.error_bound <= options.tolerance * std::abs(e.value);
                          });
    estimate.is_converged = agreed(is_known, options.group);
    if (estimate.is_converged) break;
    if (is_invariant) {
      // The space is invariant: what is left of A lies beyond it.
      next = random.gaussian(j + 1);
      orthogonalize(next, basis, j + 1);
      next /= std::sqrt(inner_product(next, next));
    } else {
      next /= length;
    }
    off_diagonal.push_back(length);
  }
  return estimate;
}

}  // namespace batchplus
