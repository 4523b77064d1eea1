#pragma once

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "support/location.hpp"
#include "support/supervisor/caller.hpp"
#include "support/supervisor/product.hpp"

namespace simba::support {

/// Holds one server: makes its folder, starts, stops and breaks it, and removes everything at the
/// end. Every function throws std::exception where it fails, and CallerGone.
///
/// One a process, since it takes in what descends from the server.
class Supervisor {
 public:
  /// Starts the server. `tls`: off, on or other_host.
  Supervisor(std::string_view product, std::string_view tls, std::vector<std::string> arguments,
             Caller& caller);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  Location location() const;
  std::filesystem::path log() const { return home_.log(); }

  /// One of start, stop, kill, pause, resume. Throws std::invalid_argument for others.
  void obey(std::string_view command);

 private:
  void set_up(std::string_view tls);
  void start_first();
  void start();
  void end(int signal);
  void kill_all();
  void signal_all(int signal);
  void pause_all();
  bool has_ended();

  const std::unique_ptr<Product> product_;
  Caller& caller_;
  Home home_;
  pid_t server_ = -1;  // -1: does not run
};

}  // namespace simba::support
