#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace simba::support {

/// Ports of 127.0.0.1 that are free and stay so until they are released, and later too, most
/// likely: nobody else chooses there.
class FreePorts {
 public:
  /// Throws std::runtime_error where there are none.
  explicit FreePorts(std::size_t count);
  ~FreePorts() { release(); }
  FreePorts(const FreePorts&) = delete;
  FreePorts& operator=(const FreePorts&) = delete;

  std::uint16_t operator[](std::size_t index) const { return ports_.at(index); }

  /// For those who are to listen there.
  void release() noexcept;

 private:
  void take(std::uint16_t port);

  std::vector<int> sockets_;
  std::vector<std::uint16_t> ports_;
};

}  // namespace simba::support
