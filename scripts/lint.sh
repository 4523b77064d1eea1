#!/usr/bin/env bash
# Runs every static check, all of them even when one fails. Usage: scripts/lint.sh [check ...]
# Checks: words format includes headers tidy cppcheck abi   (default: all of these)
#         analyze: clang's static analyzer, which takes as long as the others together
#         changed: format and tidy for the files that differ from the last commit
set -uo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)

# What people read, as pathspecs of git. Add a path here once its language has been revised.
# (Text that programs write into docs is checked there. Two files of tests/chaos are listed because they write such text.)
prose=(README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md DEPENDENCIES.md SECURITY.md .github
       Makefile .ci examples packaging tests/README.md tests/chaos/report.cpp tests/chaos/servers/stores.cpp docs include testkit src cli
       scripts ':!scripts/phrases.txt')

# The spelling of everything, and no phrase of scripts/phrases.txt in prose.
check_words() {
  local failed=0 phrase advice
  git rev-parse --is-inside-work-tree >/dev/null || return 1
  # Ignored: what tests misspell on purpose, names, and macros of the manual page.
  git ls-files -z | grep -zvE '\.svg$|^tests/fuzz/corpus/|^scripts/phrases\.txt$' |
    xargs -0 codespell --ignore-words-list=verfy,startet,upto,fro,te || failed=1
  while IFS=$'\t' read -r phrase advice; do
    git grep -nIiP "$phrase" -- "${prose[@]}" && { echo "lint: better: $advice" >&2; failed=1; }
  done < <(grep -v '^#' scripts/phrases.txt)
  return $failed
}

# clang-format finds nothing to change.
check_format() {
  local places
  places=$(scripts/sources.sh | xargs -r -d '\n' clang-format --dry-run --Werror --style=file 2>&1) ||
    {
      # Line numbers only; "make format" shows what is wanted.
      sed -n 's/:[0-9]*: error: code should be clang-formatted.*//p' <<<"$places" | uniq >&2
      echo "lint: run \"make format\" to fix this" >&2
      return 1
    }
}

# Each part includes only what ARCHITECTURE.md allows it.
check_includes() { scripts/check-includes.sh; }

# Each public header compiles on its own, and shows its users none of the libraries behind it. (The
# testkit is for tests, so there GoogleTest may be seen; simba/asio.hpp and simba/boost_asio.hpp are for users of
# Asio, simba/prometheus for those of prometheus-cpp.)
check_headers() {
  local leaks
  leaks=$(grep -rnE '#include +[<"](asio|boost|spdlog|fmt|benchmark|gtest|gmock|sqlite3|libpq-fe|mysql|hiredis|openssl|zookeeper|yaml-cpp|prometheus)[./]' include |
    grep -vE '^include/simba/testkit/[^:]*:[0-9]+:#include <(gtest|gmock)/|^include/simba/prometheus/[^:]*:[0-9]+:#include <prometheus/|^include/simba/(boost_)?asio\.hpp:') &&
    { printf 'lint: public headers must not include these:\n%s\n' "$leaks" >&2; return 1; }
  scripts/build.sh dev --target all_verify_interface_header_sets
}

# Files are checked together, as the preset compiles them: most of the time would go into looking at
# the same headers again.
check_tidy() { clang_tidy '-clang-analyzer-*,-bugprone-suspicious-include'; }

check_changed() {
  local files sources groups
  files=$({ git diff --name-only --diff-filter=d HEAD; git ls-files --others --exclude-standard; } |
    grep -E '\.(cpp|hpp)$')
  [ -n "$files" ] || { echo "lint: no source file has changed"; return 0; }
  xargs -r -d '\n' clang-format --dry-run --Werror --style=file <<<"$files" || return 1
  # A header is checked with the sources that include it, which only the whole run knows.
  sources=$(grep -E '^(src|cli|testkit|examples)/.*\.cpp$' <<<"$files") || return 0
  scripts/build.sh tidy --target help >/dev/null || return 1
  groups=$(grep -lFf <(sed "s|.*|$PWD/&\"|" <<<"$sources") build/tidy/CMakeFiles/*/Unity/*.cxx | paste -sd'|')
  [ -z "$groups" ] || clang_tidy '-clang-analyzer-*,-bugprone-suspicious-include' "($groups)"
}

check_analyze() { clang_tidy '-*,clang-analyzer-*'; }

# Usage: clang_tidy <what .clang-tidy does not say of the checks> [pattern of files]
clang_tidy() {
  local log=build/clang-tidy.log version=-16
  command -v run-clang-tidy-16 >/dev/null || version=  # a release without version 16
  scripts/build.sh tidy --target help >/dev/null || return 1  # writes build/tidy/compile_commands.json
  # The database is written for GCC; clang does not know all of its flags. Names of one file hide
  # those of another that is compiled together with it. Asio takes clang for one whose standard library
  # has no coroutines.
  if "run-clang-tidy$version" -clang-tidy-binary="$PWD/scripts/clang-tidy.sh" -quiet -j "$jobs" \
    -p build/tidy -checks="$1" \
    -extra-arg=-Wno-unknown-warning-option -extra-arg=-Wno-shadow \
    -extra-arg=-DASIO_HAS_CO_AWAIT=1 -extra-arg=-DASIO_HAS_STD_COROUTINE=1 "${2:-/build/tidy/CMakeFiles/.*/Unity/.*}" >"$log" 2>&1; then
    echo "clang-tidy: $(cat build/tidy/CMakeFiles/*/Unity/*.cxx | grep -c '^#include') files are clean"
  else
    # The log is in colour, names each command and counts suppressed warnings.
    sed 's/\x1b\[[0-9;]*m//g' "$log" |
      grep -vE '^[^ ]*/clang-tidy|warnings generated|^Suppressed |^Use -header-filter|^$' >&2
    return 1
  fi
}

check_cppcheck() {
  # Not the tests: it takes a mutex in a test body for a mistake.
  scripts/sources.sh src cli testkit bench examples | grep '\.cpp$' >build/cppcheck-files.txt
  # Off: what comes of reading no headers but ours (missing..., unknownMacro, preprocessor...); its
  # own failure on literals such as 4ms (cppcheckError); what clang-tidy knows better (passedByValue,
  # accessMoved); the predicate of a wait seen as dead code (oppositeInnerCondition).
  cppcheck --quiet -j "$jobs" --std=c++20 --language=c++ --error-exitcode=1 --inline-suppr \
    --enable=warning,performance,portability --library=googletest \
    --suppress=missingInclude --suppress=missingIncludeSystem --suppress=unknownMacro \
    --suppress=preprocessorErrorDirective --suppress=cppcheckError --suppress=passedByValue \
    --suppress=accessMoved --suppress=oppositeInnerCondition \
    -I include -I src --file-list=build/cppcheck-files.txt
}

check_abi() { scripts/abi.sh; }

[ $# -gt 0 ] || set -- words format includes headers tidy cppcheck abi
mkdir -p build
failed=()
for check in "$@"; do
  echo "== lint: $check"
  "check_$check" || failed+=("$check")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "lint: failed: ${failed[*]}" >&2
  exit 1
fi
echo "lint: all clean"
