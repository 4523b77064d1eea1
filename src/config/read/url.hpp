#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/host_list.hpp"
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
  std::vector<detail::HostPort> hosts{};
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

/// What URLs of one server and one database have in common. `usual_port`: of a host without one.
std::vector<Parameter> read_database_url(const Url& url, std::uint16_t usual_port);

/// A URL that names a server names its port too, the usual one where it is silent. `hosts` is the
/// parameter that may name servers instead.
void read_port(const Url& url, std::string_view hosts, std::uint16_t usual_port,
               std::vector<Parameter>& parameters);

/// `user` and `password` of a URL, where they are given.
void read_user(const Url& url, std::vector<Parameter>& parameters);

/// "app@" or nothing, as in a URL.
std::string user_part(std::string_view user);

}  // namespace simba::config
