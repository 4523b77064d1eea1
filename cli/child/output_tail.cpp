#include "cli/child/output_tail.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <poll.h>
#include <system_error>
#include <tuple>
#include <unistd.h>

namespace simba::cli {
namespace {

constexpr std::size_t longest_tail = 2'000;

/// How long a reader may be stuck when the program has ended.
constexpr int patience_ms = 1'000;

}  // namespace

OutputTail::OutputTail() {
  std::array<int, 2> target{STDOUT_FILENO, STDERR_FILENO};
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw std::system_error{errno, std::generic_category(), "pipe2"};
    }
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    streams_.at(i).ours = ends[0];
    streams_.at(i).theirs = ends[1];
    streams_.at(i).target = target.at(i);
  }
  thread_ = std::thread{[this] { pass_on_all(); }};
}

OutputTail::~OutputTail() {
  static_cast<void>(finish());
  for (const Stream& stream : streams_) {
    if (stream.ours >= 0) ::close(stream.ours);
    ::close(stream.theirs);
  }
}

std::string OutputTail::finish() {
  ended_ = true;
  wake_up_.raise();
  if (thread_.joinable()) thread_.join();
  // Which of the two was printed last is not known.
  const auto& [output, errors] = std::tie(streams_[0].tail, streams_[1].tail);
  const std::size_t left_by_output = longest_tail - output.size();
  const auto of_errors = std::min(errors.size(), std::max(left_by_output, longest_tail / 2));
  const auto of_output = std::min(output.size(), longest_tail - of_errors);
  return output.substr(output.size() - of_output) + errors.substr(errors.size() - of_errors);
}

void OutputTail::pass_on_all() {
  for (;;) {
    const bool last = ended_;
    bool more = false;
    for (Stream& stream : streams_) more = pass_on(stream) || more;
    if (more) continue;
    if (last) return;
    // One that is negative is left out.
    std::array<pollfd, 3> files{{{streams_[0].ours, POLLIN, 0},
                                 {streams_[1].ours, POLLIN, 0},
                                 {wake_up_.descriptor(), POLLIN, 0}}};
    ::poll(files.data(), files.size(), -1);
  }
}

/// What is there now; false: nothing is.
bool OutputTail::pass_on(Stream& stream) {
  if (stream.ours < 0) return false;
  std::array<char, 4096> buffer{};
  const auto size = ::read(stream.ours, buffer.data(), buffer.size());
  if (size <= 0) return false;
  const std::string_view text{buffer.data(), static_cast<std::size_t>(size)};
  stream.tail += text;
  if (stream.tail.size() > longest_tail) stream.tail.erase(0, stream.tail.size() - longest_tail);
  if (!write_to(stream.target, text)) {
    ::close(stream.ours);
    stream.ours = -1;
  }
  return true;
}

/// False where nobody reads it, or not in time.
bool OutputTail::write_to(int target, std::string_view text) const {
  while (!text.empty()) {
    std::array<pollfd, 2> files{{{target, POLLOUT, 0}, {wake_up_.descriptor(), POLLIN, 0}}};
    const bool ended = ended_;
    const int ready = ::poll(files.data(), ended ? 1 : 2, ended ? patience_ms : -1);
    if (ready == 0) return false;
    if (ready < 0 || files[0].revents == 0) continue;
    const auto size = ::write(target, text.data(), text.size());
    if (size < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

}  // namespace simba::cli
