#include "cli/serve/gate.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/errors.hpp"
#include "core/text.hpp"

namespace simba::cli::serve {
namespace {

/// How long a browser stays logged in.
constexpr std::chrono::hours login_time{12};

/// How many wrong tokens are looked at within how long. Nobody guesses one of 16 bytes; this keeps
/// short words of people from being tried out.
constexpr std::size_t most_wrong = 10;
constexpr std::chrono::seconds window{10};

constexpr std::size_t shortest_token = 16;
constexpr std::size_t longest_token = 1'000;

std::string hex(const unsigned char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    fmt::format_to(std::back_inserter(text), "{:02x}", bytes[i]);
  }
  return text;
}

std::string nonce() {
  std::array<unsigned char, 16> bytes{};
  if (::RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw std::runtime_error{"the system gives no random numbers"};
  }
  return hex(bytes.data(), bytes.size());
}

std::string lower(std::string_view text) {
  std::string lowered{text};
  std::transform(lowered.begin(), lowered.end(), lowered.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lowered;
}

/// A descriptor that is closed.
struct OpenFile {
  explicit OpenFile(const std::string& path)
      : number{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)} {}
  ~OpenFile() {
    if (number >= 0) ::close(number);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const int number;
};

Failure unreadable(const std::string& file) {
  const int error = errno;
  return Failure{error == EACCES ? ExitCode::refused : ExitCode::configuration,
                 fmt::format("cannot read {}: {}; check the path given to --token-file", file,
                             std::strerror(error))};  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace

bool Gate::knows_host(const http::Request& request) const {
  const std::string_view host = request.header("Host");
  if (host.empty()) return false;
  if (http::names_loopback(request)) return true;
  const bool bracketed = host.front() == '[';
  const auto end = bracketed ? std::min(host.find(']'), host.size() - 1) + 1
                             : std::min(host.find(':'), host.size());
  const std::string name = lower(host.substr(0, end));
  return std::find(options_.hosts.begin(), options_.hosts.end(), name) != options_.hosts.end();
}

bool Gate::is_logged_in(const http::Request& request, Seconds now) const {
  if (!has_token()) return false;
  if (const auto token = http::bearer_token(request); !token.empty()) return is_token(token);
  const std::string_view cookie = request.cookie(cookie_name());
  const auto last = cookie.rfind('.');
  if (last == std::string_view::npos) return false;
  const std::string_view signed_text = cookie.substr(0, last);
  if (!http::equal_in_constant_time(cookie.substr(last + 1), signature(signed_text))) return false;
  const auto until =
      detail::parse_number<std::int64_t>(signed_text.substr(0, signed_text.find('.')));
  return until && now < Seconds{std::chrono::seconds{*until}};
}

bool Gate::is_of_our_page(const http::Request& request) const {
  const std::string_view site = request.header("Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin") return false;
  const std::string_view origin = request.header("Origin");
  if (origin.empty()) return !http::bearer_token(request).empty();
  return lower(origin) ==
         fmt::format("{}://{}", options_.secure ? "https" : "http", lower(request.header("Host")));
}

std::optional<std::string> Gate::log_in(std::string_view token, Seconds now) {
  if (now - window_ >= window || now < window_) {
    window_ = now;
    wrong_ = 0;
  }
  if (!has_token() || wrong_ >= most_wrong) return std::nullopt;
  if (!is_token(token)) {
    ++wrong_;
    return std::nullopt;
  }
  const std::string text =
      fmt::format("{}.{}", (now + login_time).time_since_epoch().count(), nonce());
  return cookie(text + "." + signature(text), login_time);
}

std::string Gate::log_out() const { return cookie("", std::chrono::seconds{0}); }

bool Gate::is_closed(Seconds now) const noexcept {
  return wrong_ >= most_wrong && now - window_ < window && now >= window_;
}

// Browsers share the cookies of a host between its ports.
std::string Gate::cookie_name() const {
  return fmt::format("{}simba-{}", options_.secure ? "__Host-" : "", options_.port);
}

std::string Gate::cookie(std::string_view value, std::chrono::seconds age) const {
  return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{}", cookie_name(), value,
                     age.count(), options_.secure ? "; Secure" : "");
}

std::string Gate::signature(std::string_view text) const {
  const std::string& key = options_.token.reveal();
  const std::string what = fmt::format("simba serve {} {}", options_.port, text);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how OpenSSL wants its bytes
  const auto* bytes = reinterpret_cast<const unsigned char*>(what.data());
  if (::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, what.size(),
             digest.data(), &size) == nullptr) {
    throw std::runtime_error{"OpenSSL cannot compute an HMAC"};
  }
  return hex(digest.data(), size);
}

// Compared are digests, so that not even the length shows.
bool Gate::is_token(std::string_view text) const {
  return has_token() &&
         http::equal_in_constant_time(signature(text), signature(options_.token.reveal()));
}

Secret read_token(const std::string& file) {
  const OpenFile open{file};
  struct stat status {};
  if (open.number < 0 || ::fstat(open.number, &status) != 0) throw unreadable(file);
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    throw Failure{ExitCode::configuration,
                  fmt::format("{} is not a file; check the path given to --token-file", file)};
  }
  if ((status.st_mode & (S_IROTH | S_IWOTH)) != 0) {
    throw Failure{ExitCode::configuration,
                  fmt::format("every user of this host can read or change {}; run: chmod o-rw {}",
                              file, file)};
  }
  std::string text(longest_token + 2, '\0');
  const auto size = ::read(open.number, text.data(), text.size());
  if (size < 0) throw unreadable(file);
  text.resize(static_cast<std::size_t>(size));
  text.resize(std::min(text.find_first_of("\r\n"), text.size()));
  const bool printable =
      std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (text.size() < shortest_token || text.size() > longest_token || !printable) {
    throw Failure{
        ExitCode::configuration,
        fmt::format("the token in {} must be {} to {} printable ASCII characters without blanks "
                    "(got {} bytes); make one, for example: openssl rand -hex 32",
                    file, shortest_token, longest_token, text.size())};
  }
  return Secret{std::move(text)};
}

}  // namespace simba::cli::serve
