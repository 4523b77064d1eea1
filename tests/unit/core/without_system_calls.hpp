#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <initializer_list>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <vector>

namespace simba::test {

/// Runs `body` on a thread of its own, to which the kernel answers these system calls with `error`,
/// as one does that is short of threads or a container that forbids a call. Other threads are not
/// concerned. Rethrows what the body throws; throws std::runtime_error where the kernel has no such
/// filters.
inline void without_system_calls(std::initializer_list<long> numbers, unsigned error,
                                 const std::function<void()>& body) {
  std::vector<sock_filter> filter{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<unsigned>(offsetof(seccomp_data, nr))}};
  for (const long number : numbers) {
    filter.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<unsigned>(number)});
    filter.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error});
  }
  filter.push_back({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  std::exception_ptr thrown;
  std::thread{[&] {
    try {
      if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
          ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        throw std::runtime_error{"the kernel filters no system calls"};
      }
      body();
    } catch (...) {
      thrown = std::current_exception();
    }
  }}.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace simba::test
