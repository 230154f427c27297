#pragma once

#include "util/json.h"

namespace batchplus {

/// What ran: program version and commit, library versions, compiler, processor and its instruction set, the
/// revision of own kernels, threads, device.
Json provenance(const std::string& device);

}  // namespace batchplus
