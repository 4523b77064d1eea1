#!/usr/bin/env bash
# Tests of scripts/check-includes.sh, on small trees that are made here, and on ours.
# Usage: check_includes_test.sh <sources> <test>
set -uo pipefail
sources=$1 test=$2

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

fail() {
  printf '%s\n' "$1" '---- the output:' "$output" >&2
  exit 1
}

# file <path> <#include operand ...>
file() {
  mkdir -p "$(dirname "$tree/$1")"
  printf '#include %s\n' "${@:2}" >"$tree/$1"
}

check() {
  output=$("$sources/scripts/check-includes.sh" "$tree" 2>&1)
  code=$?
}

passes() {
  check
  [ "$code" -eq 0 ] || fail "it fails"
}

# fails_with <line ...>: it fails and says these lines, nothing else.
fails_with() {
  check
  [ "$code" -eq 1 ] || fail "it ends with code $code, not 1"
  [ "$output" = "$(printf '%s\n' "$@")" ] || fail "it does not say: $*"
}

cat >"$tree/ARCHITECTURE.md" <<'END'
## Parts, and what each may include
| part | what it is | public headers of | internal headers |
|---|---|---|---|
| `core` | values | – | – |
| `sql` | what stores share | `core` | `core/threads` |
| `mysql` | a store | `core`, `sql` | `sql` |
| `redis` | a store | `core` | – |
| `cli` | the command | `core` | – |
## Another table
| `redis` | | `sql` | `sql` |
END
file include/simba/core/error.hpp '<string>'
file src/core/threads/pool.hpp '"simba/core/error.hpp"'
file src/sql/rows.hpp '"simba/core/error.hpp"' '"core/threads/pool.hpp"' '"rows_schema.hpp"'
file include/simba/sql/options.hpp '"simba/version.hpp"'
file src/mysql/session.cpp '<mysql/mysql.h>' '"simba/core/error.hpp"' '"simba/sql/options.hpp"' '"sql/rows.hpp"'
file src/redis/link.cpp '"simba/core/error.hpp"' '"redis/link.hpp"' '"./link.hpp"'
file cli/main.cpp '"cli/command.hpp"' '<simba/core/error.hpp>'

WhatTheTableAllowsPasses() { passes; }

TheTreeOfThisRepositoryPasses() {
  output=$("$sources/scripts/check-includes.sh" 2>&1) || fail "it fails"
}

AForbiddenEdgeFails() {
  file src/redis/node.cpp '"redis/node.hpp"' '"simba/sql/options.hpp"' '"sql/rows.hpp"'
  fails_with 'src/redis/node.cpp:2: `redis` may not include public headers of `sql`' \
    'src/redis/node.cpp:3: `redis` may not include the internal sql/rows.hpp'
}

AForbiddenEdgeByAnotherSpellingFails() {
  file src/redis/node.cpp '<sql/rows.hpp>' '"../sql/rows.hpp"'
  printf '  #  include "sql/rows.hpp"\n' >>"$tree/src/redis/node.cpp"
  fails_with 'src/redis/node.cpp:1: `redis` may not include the internal sql/rows.hpp' \
    'src/redis/node.cpp:2: `redis` may not include the internal ../sql/rows.hpp' \
    'src/redis/node.cpp:3: `redis` may not include the internal sql/rows.hpp'
}

AnInternalHeaderOutsideWhatIsListedFails() {
  file src/sql/rows.cpp '"core/threads/pool.hpp"' '"core/threads_of_another/pool.hpp"' '"core/text.hpp"'
  fails_with 'src/sql/rows.cpp:2: `sql` may not include the internal core/threads_of_another/pool.hpp' \
    'src/sql/rows.cpp:3: `sql` may not include the internal core/text.hpp'
}

APublicHeaderThatIncludesAnInternalOneFails() {
  file include/simba/mysql/factory.hpp '"mysql/session.hpp"' '"sql/rows.hpp"'
  fails_with 'include/simba/mysql/factory.hpp:1: a public header includes the internal mysql/session.hpp' \
    'include/simba/mysql/factory.hpp:2: a public header includes the internal sql/rows.hpp'
}

ACycleFailsEvenIfTheTableNamesIt() {
  sed -i 's/^| `core` | values | –/| `core` | values | `sql`/' "$tree/ARCHITECTURE.md"
  file src/core/log.cpp '"simba/sql/options.hpp"'
  fails_with 'src/core/log.cpp:1: `core` includes simba/sql/options.hpp, but the table has `sql` below it'
}

AnEdgeOfTheTableThatIsGoneFails() {
  file src/mysql/session.cpp '"simba/core/error.hpp"' '"sql/rows.hpp"'
  fails_with 'ARCHITECTURE.md: `mysql` does not include public headers of `sql`'
}

APartWithoutARowFails() {
  file src/etcd/store.cpp '"simba/core/error.hpp"' '<string>'
  fails_with 'src/etcd/store.cpp:1: part `etcd` has no row in the table of ARCHITECTURE.md'
}

AMissingTableFails() {
  sed -i 's/^## Parts.*/## Parts/' "$tree/ARCHITECTURE.md"
  check
  [ "$code" -eq 1 ] || fail "it ends with code $code, not 1"
}

"$test"
