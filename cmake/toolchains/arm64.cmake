# Cross-builds for arm64 with Debian's compiler (g++-aarch64-linux-gnu) and its multiarch libraries
# (libspdlog-dev:arm64, ...). Programs run under qemu-user-static where there is one. scripts/arm64.sh
# makes such a system.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
find_program(SIMBA_QEMU qemu-aarch64-static)
mark_as_advanced(SIMBA_QEMU)
if(SIMBA_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${SIMBA_QEMU}")
endif()
