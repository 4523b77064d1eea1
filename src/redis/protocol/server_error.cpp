#include "redis/protocol/server_error.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"

namespace simba::redis {
namespace {

using Code = ServerError::Code;

constexpr std::array<std::pair<std::string_view, Code>, 17> code_words{{
    {"NOSCRIPT", Code::no_script},
    {"MOVED", Code::moved},
    {"ASK", Code::ask},
    {"TRYAGAIN", Code::try_again},
    {"CLUSTERDOWN", Code::cluster_down},
    {"CROSSSLOT", Code::cross_slot},
    {"READONLY", Code::read_only},
    {"MASTERDOWN", Code::master_down},
    {"LOADING", Code::loading},
    {"BUSY", Code::busy},
    {"OOM", Code::out_of_memory},
    {"NOREPLICAS", Code::no_replicas},
    {"MISCONF", Code::misconfigured},
    {"NOAUTH", Code::not_authenticated},
    {"WRONGPASS", Code::wrong_password},
    {"NOPERM", Code::no_permission},
    {"WRONGTYPE", Code::wrong_type},
}};

/// Texts that begin with ERR, or come of a script, and are known by a phrase in them.
constexpr std::array<std::pair<std::string_view, Code>, 9> phrases{{
    {"invalid password", Code::wrong_password},
    {"without any password configured", Code::wrong_password},
    {"no password is set", Code::wrong_password},
    {"The user executing the script can't", Code::no_permission},
    {"ACL failure in script", Code::no_permission},
    {"unknown command", Code::unknown_command},
    {"unknown subcommand", Code::unknown_command},
    {"Unknown subcommand", Code::unknown_command},
    {"Unknown Redis command", Code::unknown_command},
}};

/// What Code::other can be told apart by.
struct OtherError {
  std::string_view phrase;
  ErrorKind kind;
  std::string_view advice;
};
constexpr std::array<OtherError, 5> other_errors{{
    {"max number of clients", ErrorKind::unavailable,
     "the server has reached its connection limit; raise maxclients or close connections"},
    {"Script killed", ErrorKind::unavailable, "the script was stopped by SCRIPT KILL; retrying"},
    {"DB index", ErrorKind::configuration,
     "the server has no such database; check the option `database`"},
    {"SELECT is not allowed", ErrorKind::configuration,
     "a cluster has only database 0; omit the option `database`"},
    {"cluster support disabled", ErrorKind::configuration,
     "the server is not part of a cluster; check the option `topology`"},
}};

bool contains(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

std::string_view first_word(std::string_view text) noexcept {
  return text.substr(0, text.find(' '));
}

std::optional<Code> code_of_word(std::string_view word) noexcept {
  const auto* const found = std::find_if(code_words.begin(), code_words.end(),
                                         [&](const auto& entry) { return entry.first == word; });
  if (found == code_words.end()) return std::nullopt;
  return found->second;
}

/// The error that a script met, in "ERR Error running script (call to f_<sha>): @user_script:5:
/// -OOM command not allowed"; else nothing.
std::string_view error_in_script(std::string_view text) noexcept {
  constexpr std::string_view mark = "@user_script:";
  const std::size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view line = text.substr(at + mark.size());
  const std::size_t number = line.find_first_not_of(' ');
  if (number == std::string_view::npos) return {};
  const std::size_t end = line.find_first_not_of("0123456789", number);
  if (end == std::string_view::npos || end == number || line[end] != ':') return {};
  const std::size_t begin = line.find_first_not_of(" -", end + 1);
  return begin == std::string_view::npos ? std::string_view{} : line.substr(begin);
}

Code code_of(std::string_view text) noexcept {
  const std::string_view word = first_word(text);
  if (const auto code = code_of_word(word)) return *code;
  if (word == "DENIED") return Code::not_authenticated;
  if (word != "ERR") return Code::other;
  if (const auto code = code_of_word(first_word(error_in_script(text)))) return *code;
  const auto* const found = std::find_if(phrases.begin(), phrases.end(), [&](const auto& entry) {
    return contains(text, entry.first);
  });
  return found == phrases.end() ? Code::other : found->second;
}

/// Reads "MOVED 3999 127.0.0.1:6381". False if it is something else.
bool read_redirection(std::string_view text, ServerError& error) {
  constexpr std::uint16_t slots = 16'384;
  text.remove_prefix(std::min(text.size(), first_word(text).size() + 1));
  const std::string_view slot_text = first_word(text);
  const auto slot = detail::parse_number<std::uint16_t>(slot_text);
  text.remove_prefix(std::min(text.size(), slot_text.size() + 1));
  // An IPv6 address has no brackets here, so the port is what follows the last colon.
  const std::size_t colon = text.rfind(':');
  if (!slot || *slot >= slots || colon == std::string_view::npos) return false;
  const std::string_view host = text.substr(0, colon);
  const auto port = detail::parse_number<std::uint16_t>(text.substr(colon + 1));
  constexpr std::size_t longest_host = 255;
  const bool is_host =
      host.size() <= longest_host &&
      std::all_of(host.begin(), host.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!port || *port == 0 || !is_host) return false;
  error.slot = *slot;
  error.endpoint = Endpoint{std::string{host}, *port, {}};
  return true;
}

/// Unknown commands are answered with the arguments that came with them: with AUTH, a password.
std::string_view without_arguments(std::string_view text) noexcept {
  return text.substr(0, text.find(", with args beginning with"));
}

ErrorKind kind_of(const ServerError& error, const OtherError* other) noexcept {
  switch (error.code) {
    case Code::no_script:
    case Code::moved:
    case Code::ask:
    case Code::try_again:
    case Code::cluster_down:
    case Code::read_only:
    case Code::master_down:
    case Code::loading:
    case Code::busy:
    case Code::out_of_memory:
    case Code::no_replicas:
    case Code::misconfigured:
      return ErrorKind::unavailable;
    case Code::not_authenticated:
    case Code::wrong_password:
      return ErrorKind::authentication;
    case Code::no_permission:
      return ErrorKind::permission;
    case Code::cross_slot:
      return ErrorKind::invalid_argument;
    case Code::wrong_type:
      return ErrorKind::configuration;
    case Code::unknown_command:
      return ErrorKind::unsupported;
    case Code::other:
      break;
  }
  return other != nullptr ? other->kind : ErrorKind::internal;
}

std::string advice_on_permission(std::string_view text) {
  // "one of the keys used" up to Redis 7.0, "the 'simba:{m}' key" later, "a key" in a script.
  if (contains(text, "the channel") || contains(text, "' channel") || contains(text, "a channel")) {
    return "the user is not allowed to use Simba's channels; run: ACL SETUSER "
           "<user> &simba:*";
  }
  if (contains(text, "the keys") || contains(text, "' key") || contains(text, "a key")) {
    return "the user is not allowed to use Simba's keys; run: ACL SETUSER <user> "
           "~simba:*";
  }
  return fmt::format(
      "the user is not allowed to run a command that Simba needs; run: ACL SETUSER <user> {}",
      required_acl);
}

/// What to do about it, or nothing where we do not know.
std::string advice(const ServerError& error, const OtherError* other) {
  const std::string_view text = error.text;
  switch (error.code) {
    case Code::no_script:
      return "the server no longer has the script (SCRIPT FLUSH or a restart); sending it again";
    case Code::moved:
    case Code::ask:
      return "the server is a cluster node, and the mutex is on another node; set the option "
             "`topology` to cluster, or wait until the slot has been migrated";
    case Code::try_again:
      return "the slot of the mutex is being migrated; retrying";
    case Code::cluster_down:
      return "the cluster does not serve all slots; check CLUSTER INFO for missing nodes";
    case Code::cross_slot:
      return "the keys of the mutex are in different slots; in a cluster its name must not begin "
             "with '}'";
    case Code::read_only:
      return "the server is a replica, and a master is required; check the options `endpoints` and "
             "`topology`, or wait for a failover to finish";
    case Code::master_down:
      return "the server is a replica that has lost its master; wait for a failover to finish, or "
             "connect to the master";
    case Code::loading:
      return "the server is loading its data from disk; retrying";
    case Code::busy:
      return "another client's script or function has been running for too long; stop it with "
             "SCRIPT KILL or FUNCTION "
             "KILL";
    case Code::out_of_memory:
      return "the server is out of memory; raise maxmemory or delete data";
    case Code::no_replicas:
      return "the server has fewer replicas than its min-replicas-to-write; restore replicas or "
             "lower it";
    case Code::misconfigured:
      return "the server cannot write to disk and rejects changes; check its log, free disk space "
             "or correct `dir`";
    case Code::not_authenticated:
      return text.starts_with("DENIED")
                 ? "the server is in protected mode; set a password or a `bind` address there"
                 : "the server requires a password; set the options `user` and `password`";
    case Code::wrong_password:
      return contains(text, "password configured") || contains(text, "password is set")
                 ? "the server has no password; omit the option `password`, or set requirepass"
                 : "the server rejected the credentials; check the options `user` and `password`";
    case Code::no_permission:
      return advice_on_permission(text);
    case Code::wrong_type:
      return "a key that begins with simba: holds data that Simba did not write; find out what "
             "writes it, and delete it with DEL";
    case Code::unknown_command:
      return "the server does not support a command that Simba needs; it is too old, or the "
             "command is disabled (rename-command)";
    case Code::other:
      break;
  }
  return std::string{other != nullptr ? other->advice : std::string_view{}};
}

const OtherError* find_other(const ServerError& error) noexcept {
  if (error.code != Code::other) return nullptr;
  const auto* const found =
      std::find_if(other_errors.begin(), other_errors.end(),
                   [&](const OtherError& entry) { return contains(error.text, entry.phrase); });
  return found == other_errors.end() ? nullptr : found;
}

}  // namespace

ServerError parse_server_error(std::string_view text) {
  ServerError error{code_of(text), std::string{without_arguments(text)}};
  if (error.code == Code::moved || error.code == Code::ask) {
    if (!read_redirection(text, error)) error.code = Code::other;
  }
  return error;
}

Error to_error(const ServerError& error, std::string_view where) {
  const OtherError* const other = find_other(error);
  std::string message = fmt::format("{}: {}", where, detail::excerpt(error.text));
  // Some texts are sentences; ours goes on.
  while (message.ends_with('.') || message.ends_with(' ')) message.pop_back();
  if (const std::string what_to_do = advice(error, other); !what_to_do.empty()) {
    message += fmt::format("; {}", what_to_do);
  }
  return Error{kind_of(error, other), message};
}

bool ends_connection(ServerError::Code code) noexcept {
  return code == Code::read_only || code == Code::master_down || code == Code::not_authenticated ||
         code == Code::wrong_password;
}

}  // namespace simba::redis
