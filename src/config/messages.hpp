#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace simba::config {

/// Throws Error of kind `configuration`.
[[noreturn]] void refuse(const std::string& message);

/// The same, after the place that is to blame: "simba.yaml:3: simba.redis.ttl: …".
[[noreturn]] void refuse(std::string_view origin, std::string_view message);

/// The text as messages quote it: in quotation marks, on one line, cut where it is long, and
/// without what may be a password, as in a URL.
std::string shown(std::string_view text);

/// "a, b, c"
std::string joined(const std::vector<std::string>& words);

/// The word that was probably meant, if one is near enough. Capitals, '-' and '_' do not count.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known);

/// `; did you mean "ttl"?` or nothing, and after it ` Allowed: …` with all that are known.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

std::string lower_case(std::string_view text);

}  // namespace simba::config
