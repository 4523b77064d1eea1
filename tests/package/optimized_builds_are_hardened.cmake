find_program(readelf readelf)
if(NOT readelf)
  message(FATAL_ERROR "readelf is not installed; install binutils")
endif()

# check(program): whether it has what cmake/SimbaCompile.cmake says.
function(check program)
  capture(dynamic "${readelf}" --wide --dynamic "${program}")
  capture(headers "${readelf}" --wide --file-header --program-headers "${program}")
  capture(symbols "${readelf}" --wide --dyn-syms "${program}")
  foreach(wanted IN ITEMS "dynamic|FLAGS_1.*NOW.*PIE|is not position-independent, or binds lazily"
      "headers|GNU_RELRO|has no RELRO" "headers|GNU_STACK +0x[0-9a-f]+ +0x[0-9a-f]+ +0x[0-9a-f]+ +0x[0-9a-f]+ +0x[0-9a-f]+ +RW |has an executable stack"
      "symbols|__stack_chk_fail|has no stack protector" "symbols|__[a-z]+_chk|is compiled without _FORTIFY_SOURCE")
    string(REPLACE "|" ";" wanted "${wanted}")
    list(GET wanted 0 text)
    list(GET wanted 1 pattern)
    list(GET wanted 2 problem)
    if(NOT "${${text}}" MATCHES "${pattern}")
      message(FATAL_ERROR "${program} ${problem}:\n${${text}}")
    endif()
  endforeach()
endfunction()

fresh_folder(folder)
run("${CMAKE_COMMAND}" -S "${sources}/hardened" -B "${folder}" -G "${generator}"
  -D "CMAKE_CXX_COMPILER=${cxx}" -D CMAKE_BUILD_TYPE=Release -D "simba_dir=${source_dir}")
run("${CMAKE_COMMAND}" --build "${folder}")
check("${folder}/bin/hardened")

# CET in our own file: a program has it only where the files of the C library have it, too.
capture(machine uname -m)
capture(notes "${readelf}" --wide --notes "${folder}/CMakeFiles/hardened.dir/main.cpp.o")
if(machine STREQUAL "x86_64" AND NOT notes MATCHES "IBT.*SHSTK")
  message(FATAL_ERROR "objects are compiled without CET:\n${notes}")
endif()

if(hardened AND command)
  check("${command}")
endif()
