#pragma once

#include <cstdint>
#include <string>

namespace batchplus {

struct ModelsCommand {
  /// The network whose layers are to be shown; empty: all networks are listed.
  std::string name;
  int64_t classes = 10;
};

}  // namespace batchplus
