#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "util/error.h"
#include "util/text.h"

namespace batchplus {

/// The row of a registry with that name, or an Error "unknown `kind`" that names `where` and suggests the
/// nearest one.
template <class Row>
const Row& find_row(const std::vector<Row>& table, std::string_view name, std::string_view kind,
                    std::string_view where) {
  std::vector<std::string> names;
  for (const Row& row : table) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw Error("unknown " + std::string(kind),
              {std::string(where), std::string(name), suggest_name(name, names)});
}

}  // namespace batchplus
