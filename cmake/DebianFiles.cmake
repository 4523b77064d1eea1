# Run by cpack on what it has installed into a folder of its own, one for each package. What Debian's
# packages have and an installation by hand does not.
find_program(gzip gzip REQUIRED)

# Archives for others need no debug information. (CPACK_STRIP_FILES knows programs and shared
# libraries only.)
file(GLOB_RECURSE archives "${CPACK_TEMPORARY_DIRECTORY}/*.a")
find_program(strip strip)
if(archives AND strip)
  execute_process(COMMAND "${strip}" --strip-debug ${archives} COMMAND_ERROR_IS_FATAL ANY)
endif()

file(GLOB_RECURSE manuals "${CPACK_TEMPORARY_DIRECTORY}/*.1")
list(FILTER manuals INCLUDE REGEX "/share/man/man1/[^/]+$")
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER "${component}" key)
  set(package "${CPACK_DEBIAN_${key}_PACKAGE_NAME}")
  set(folder "${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share/doc/${package}")
  file(WRITE "${folder}/copyright"
    "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
    "Upstream-Name: simba\n\n"
    "Files: *\nCopyright: 2026 The authors of Simba for C++\nLicense: Apache-2.0\n"
    " On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.\n")
  string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE "${folder}/changelog"
    "simba (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
    "  * See CHANGELOG.md in the sources of this version.\n\n"
    " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  list(APPEND manuals "${folder}/changelog")
endforeach()
execute_process(COMMAND "${gzip}" --best --no-name --force ${manuals} COMMAND_ERROR_IS_FATAL ANY)
