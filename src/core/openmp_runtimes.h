#pragma once

#include <string>
#include <vector>

namespace batchplus {

/// The files of the OpenMP runtimes (GCC's libgomp, LLVM's libomp, Intel's libiomp5) that this process has
/// loaded, in the order in which symbols are looked for. One file under two names is loaded once.
std::vector<std::string> openmp_runtimes();

/// An Error when there are two or more: each has threads of its own, and which of them computes is up to the
/// loader. A PyTorch wheel brings a copy of its own. KMP_DUPLICATE_LIB_OK=TRUE, LLVM's variable for this,
/// lets them be.
void require_one_openmp_runtime();

}  // namespace batchplus
