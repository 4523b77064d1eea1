#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/keys/host_list.hpp"
#include "simba/core/secret.hpp"

namespace simba::config {

struct Parameter {
  std::string name{};
  std::string value{};
};

/// What stands after the scheme.
enum class UrlForm {
  path,   ///< `sqlite:PATH?...`
  hosts,  ///< `redis://user:password@h1,h2:6379/a/b?...`
};

/// A URL in parts, with all percent signs decoded.
struct Url {
  std::string scheme{};  ///< in lower case
  UrlForm form = UrlForm::hosts;
  std::string user{};
  Secret password{};
  std::vector<HostPort> hosts{};
  std::vector<std::string> steps{};  ///< of the path, where there are hosts
  std::string path{};                ///< otherwise
  std::vector<Parameter> parameters{};

  /// The value of a parameter, if it is there.
  std::optional<std::string> parameter(std::string_view name) const;
};

/// In lower case and without a `jdbc:` before it; nothing where the text does not begin with one.
std::optional<std::string> scheme_of(std::string_view text);

/// Throws Error of kind `configuration`; its text quotes nothing of the URL but a numeric port,
/// since the rest may be a password.
Url parse_url(std::string_view text, UrlForm form);

/// For messages: without password and parameters.
std::string to_text(const Url& url);

}  // namespace simba::config
