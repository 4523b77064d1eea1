#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace simba::support {

/// A program that is told what to do by lines and answers by lines, on its standard input and
/// output. Its input ends when this object or the process that made it is gone, however that
/// happens.
///
/// Its environment is ours with a UTF-8 locale, whatever ours is: Java and Python read their
/// arguments in the encoding of the locale, and no option of theirs changes that.
///
/// Threads: used by one thread at a time. The destructor kills the process.
class TalkingProcess {
 public:
  /// `words`: the path of the program and its arguments. Throws std::system_error.
  explicit TalkingProcess(std::vector<std::string> words);
  ~TalkingProcess();
  TalkingProcess(const TalkingProcess&) = delete;
  TalkingProcess& operator=(const TalkingProcess&) = delete;

  /// Sends a line. Throws std::runtime_error where the process has ended.
  void order(std::string_view text);

  /// Waits at most `scaled(limit)` for a line that starts with `beginning`, among those that no
  /// call has passed yet, and passes it and all before it. Returns it; empty: there was none.
  std::string said(std::string_view beginning, std::chrono::milliseconds limit);

  /// The same with a limit far beyond every bound.
  std::string said(std::string_view beginning);

  /// Sends a question and waits for the line that answers it, which starts with `beginning`. Passes
  /// no line. Throws std::runtime_error where there is none.
  std::string ask(std::string_view question, std::string_view beginning);

  /// All lines so far.
  const std::vector<std::string>& lines();

  /// The same as one text, for messages.
  std::string transcript();

  /// As by SIGKILL: it does nothing any more, and its connections end.
  void kill();

  /// By SIGSTOP and SIGCONT.
  void pause();
  void resume();

  /// Sends "quit" and waits for the end. Returns the exit code; 0: nothing was wrong.
  int quit();

 private:
  /// Waits for a line from `first` on. Returns its index; empty: there was none.
  std::optional<std::size_t> find(std::string_view beginning, std::size_t first,
                                  std::chrono::milliseconds limit);
  bool read(std::chrono::milliseconds span);
  void reap();

  pid_t process_ = -1;  // -1: has ended
  int exit_code_ = -1;
  int channel_ = -1;
  bool ended_ = false;              // nothing more will be said
  std::string pending_;             // the beginning of a line
  std::vector<std::string> lines_;  // all of them
  std::size_t passed_ = 0;          // how many of them a call has passed
};

}  // namespace simba::support
