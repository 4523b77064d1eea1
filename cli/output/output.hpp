#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "simba/core/log.hpp"

namespace simba::cli {

/// The order of the keys is the one in which they were set.
using Json = nlohmann::ordered_json;

/// What a command prints: for people, or, with --json, one object a line.
///
/// Results go to standard output. Notes and errors go to standard error, so that they never mix
/// with what a CMD prints; as objects too with --json. Both come before what a CMD prints later,
/// but nobody waits for a standard error that is stuck: what does not fit is dropped, with a count.
/// A standard output that is stuck is waited for, as its reader may be slow, unless a command says
/// otherwise (`queue_results`).
///
/// Threads: every function may be called from any thread.
class Output {
 public:
  enum class Form { text, json };

  explicit Output(Form form);

  bool json() const noexcept { return form_ == Form::json; }

  /// True where standard output is a terminal and wants text: something may be drawn there. Colours
  /// only where `colours()` too.
  bool live() const noexcept { return live_; }
  bool colours() const noexcept { return colours_; }

  /// The same for standard error and `passing_note`.
  bool live_notes() const noexcept { return live_notes_; }

  /// A result: the text, or with --json the object.
  void result(std::string_view text, const Json& object);

  /// A text as it is, with --json too.
  void page(std::string_view text);

  /// From here on results wait for standard output in a queue, and nobody waits for them: for a
  /// command that has something else to do in time. What does not fit is dropped.
  void queue_results();

  /// True where a result could not be written. That the reader has gone does not count.
  bool failed() const noexcept { return *failure_ != 0; }

  /// Waits for queued results, but not for long. Returns why some are missing; empty: none is.
  std::string finish();

  /// A remark: "simba: text", or with --json the object. What steers a terminal is escaped, since
  /// the text may be a server's.
  void note(std::string_view text, const Json& object);

  /// What `note` would write, for somebody who may have to do so without us.
  std::string note_line(std::string_view text, const Json& object) const;

  /// A remark that the next one replaces where standard error is a terminal.
  void passing_note(std::string_view text, const Json& object);

  /// Takes the last `passing_note` off the terminal, before others write there.
  void end_passing_note();

  /// With --json the object on standard error; else nothing.
  void event(const Json& object);

  /// The message that a command ends with.
  void error(std::string_view message, int exit_code);

 private:
  void write_result(std::string_view text);
  void write_note(std::string_view text, const Json& object, std::string_view end);
  void write_error(std::string_view text);

  // constant after construction
  const Form form_;
  const bool live_;
  const bool colours_;
  const bool live_notes_;

  /// A file that may be stuck, behind a queue.
  struct Stream {
    std::shared_ptr<Logger> queue{};
    bool stuck = false;  // something took too long

    void write(std::string_view text);
  };

  const std::shared_ptr<std::atomic<int>> failure_ = std::make_shared<std::atomic<int>>(0);

  std::mutex results_mutex_;
  Stream results_;  // guarded by results_mutex_; its queue is null unless asked for

  std::mutex mutex_;
  // guarded by mutex_
  bool replaceable_ = false;  // the last note is to be replaced
  Stream errors_;             // its queue is made with the first note
};

enum class Colour { plain, bold, dim, red, green, yellow, cyan };

/// Colours where the output may have them, and nothing where not. A value.
class Palette {
 public:
  explicit Palette(const Output& output) : on_{output.colours()} {}

  std::string paint(Colour colour, std::string_view text) const;

 private:
  bool on_ = false;
};

/// One line of text for an object, whatever bytes are in its strings; nothing in it steers a
/// terminal.
std::string to_line(const Json& object);

/// The text as `printable` has it, line by line, with `indent` before all but the first.
std::string printable_lines(std::string_view text, std::string_view indent = {});

}  // namespace simba::cli
