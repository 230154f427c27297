#pragma once

#include <string>

namespace batchplus {

/// What the system calls this machine's processor: "AMD EPYC 9R14"; "unknown" where it does not say.
std::string processor_name();

}  // namespace batchplus
