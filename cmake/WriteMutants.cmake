# Writes copies of source files, each with a mistake in it: <OUTPUT>/<name>.cpp for each
# <MUTATIONS>/<name>.mutation. A copy that would be as before is left alone.
# Usage: cmake -D MUTATIONS=<folder> -D SOURCES=<root> -D OUTPUT=<folder> -P WriteMutants.cmake
#
# A mutation is a text file: a sentence that says what is wrong, "file: <path from the root>",
# "found by: <rule>[, <rule>]", then "---- instead of" and "---- comes", each followed by lines of
# code, once or several times. All places that have the first code get the second. It is an error
# where there is none: then the code has moved on.

# Brackets and semicolons make no lists here: everything stays one quoted string.
# Cuts `text` at the first `mark`: `${before}` and `${after}`; all is before it where there is none.
function(cut text mark before after)
  string(FIND "${text}" "${mark}" at)
  if(at EQUAL -1)
    set(${before} "${text}" PARENT_SCOPE)
    set(${after} "" PARENT_SCOPE)
    return()
  endif()
  string(SUBSTRING "${text}" 0 ${at} head)
  string(LENGTH "${mark}" length)
  math(EXPR at "${at} + ${length}")
  string(SUBSTRING "${text}" ${at} -1 tail)
  set(${before} "${head}" PARENT_SCOPE)
  set(${after} "${tail}" PARENT_SCOPE)
endfunction()

function(mutate mutation output)
  file(READ "${mutation}" text)
  foreach(part IN ITEMS "\nfile: " "\nfound by: " "\n---- instead of\n" "\n---- comes\n")
    string(FIND "${text}" "${part}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "${mutation} has no line \"${part}\"")
    endif()
  endforeach()
  cut("${text}" "\nfile: " sentence rest)
  cut("${rest}" "\n" file rest)
  cut("${rest}" "---- instead of\n" rules rest)
  file(READ "${SOURCES}/${file}" code)
  while(NOT rest STREQUAL "")
    cut("${rest}" "\n---- comes\n" right rest)
    cut("${rest}" "---- instead of\n" wrong rest)
    string(REGEX REPLACE "\n$" "" wrong "${wrong}")
    string(REPLACE "${right}" "${wrong}" mutated "${code}")
    if(mutated STREQUAL code)
      message(FATAL_ERROR "${mutation}: ${file} no longer contains\n${right}\nAdapt the mutation to the new code.")
    endif()
    set(code "${mutated}")
  endwhile()
  set(before)
  if(EXISTS "${output}")
    file(READ "${output}" before)
  endif()
  if(NOT before STREQUAL code)
    file(WRITE "${output}" "${code}")
  endif()
endfunction()

file(GLOB mutations "${MUTATIONS}/*.mutation")
foreach(mutation IN LISTS mutations)
  cmake_path(GET mutation STEM name)
  mutate("${mutation}" "${OUTPUT}/${name}.cpp")
endforeach()
