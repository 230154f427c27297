#include "metrics/quantity.h"

namespace batchplus {
namespace {

Json detail_json(const Quantity::Detail& detail) {
  return std::visit(
      [](const auto& value) -> Json {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, double>) return number_or_null(value);
        if constexpr (std::is_same_v<Value, std::vector<double>>) {
          Json list = Json::array();
          for (const double number : value) list.push_back(number_or_null(number));
          return list;
        }
        return value;
      },
      detail);
}

}  // namespace

Json to_json(const std::vector<Quantity>& quantities) {
  Json json = Json::object();
  for (const Quantity& quantity : quantities) {
    Json row = {{"value", number_or_null(quantity.value)}};
    if (quantity.standard_error) row["standard_error"] = number_or_null(*quantity.standard_error);
    for (const auto& [key, detail] : quantity.details) row[key] = detail_json(detail);
    json[quantity.name] = row;
  }
  return json;
}

}  // namespace batchplus
