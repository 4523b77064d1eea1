# refused(name message options...): configuring ends with this message.
function(refused name message)
  execute_process(COMMAND "${CMAKE_COMMAND}" -S "${source_dir}" -B "${folder}/${name}" -G Ninja
      -D "CMAKE_CXX_COMPILER=${cxx}" ${ARGN}
    RESULT_VARIABLE code OUTPUT_QUIET ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " words "${text}")
  if(code EQUAL 0 OR NOT words MATCHES "${message}")
    message(FATAL_ERROR "${name} ends with code ${code}, not with \"${message}\":\n${text}")
  endif()
endfunction()

fresh_folder(folder)
refused(freebsd "simba: FreeBSD is not supported; Simba needs Linux" -D CMAKE_SYSTEM_NAME=FreeBSD)

# musl has features.h, too, but does not say that it is glibc.
file(WRITE "${folder}/musl/features.h" "#pragma once\n")
refused(other_library "simba: the C library is not supported; Simba needs glibc"
  -D "CMAKE_CXX_FLAGS=-I${folder}/musl")
