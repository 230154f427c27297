#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace batchplus {

/// The candidate with the smallest edit distance, if it is near enough to be a plausible misspelling.
std::optional<std::string> nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// "did you mean 'nag'?" and "one of: sgd, nag, ..."; of many candidates only the nearest few.
std::string suggest_name(std::string_view name, const std::vector<std::string>& candidates);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// Text that names keys in braces, like "raise {hessian_products}", with the name of each in their place.
std::string name_keys(const std::string& text,
                      const std::function<std::string(const std::string& key)>& name_of);

/// The whole text as a number; `where` names the option or key in the error.
double parse_number(std::string_view text, const std::string& where);
int64_t parse_integer(std::string_view text, const std::string& where);

/// "512M", "2G", "1.5GiB", "4096": bytes, with binary multiples.
int64_t parse_bytes(std::string_view text, const std::string& where);

/// 1536 -> "1.5 KiB".
std::string format_bytes(double bytes);
/// 75 -> "1m15s".
std::string format_duration(double seconds);
/// 1234567 -> "1,234,567".
std::string format_count(int64_t count);
/// The shortest text that reads back as the same double.
std::string format_number(double number);

}  // namespace batchplus
