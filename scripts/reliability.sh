#!/usr/bin/env bash
# Runs the long tests, all of them even when one fails; their tables are left in build/reliability.
# Usage: scripts/reliability.sh [part ...]
# Parts: simulation mutations chaos soak fuzz sanitizers     (default: all; about two hours, and
#        the builds of the sanitizers)
#        logs: makes the table of sanitizers of the logs that are there: asan.log, tsan.log
#        write: puts the tables of the last runs into docs/reliability.md, between the marks there
# SIM_HOURS, CHAOS_SECONDS, SOAK_SECONDS, FUZZ_SECONDS: how long each takes (1000, 600, 600, 300).
# CHAOS_RESUME=1: only on stores without a folder in build/reliability/chaos.
# CHAOS_PARALLEL: how many stores are broken at the same time (default: 2 for each processor).
set -uo pipefail
cd "$(dirname "$0")/.."
out=build/reliability
page=docs/reliability.md
parts=(simulation mutations chaos soak fuzz sanitizers)
[ $# -gt 0 ] || set -- "${parts[@]}"
mkdir -p "$out"

run_simulation() {
  build/bin/simba-sim --hours "${SIM_HOURS:-1000}" --report "$out/simulation.md"
}

# Each mistake in the library or the simulated store must be found, by one of the rules of its file,
# as the tests BrokenEngine.* demand; the table tells how soon.
run_mutations() {
  local failed=0 mutation name output rules rule seed after
  local pattern=$'found: ([^\n]*) in seed ([0-9]+) after ([^\n]*)'
  {
    echo '| mistake | found by | in seed | after |'
    echo '|---|---|---|---|'
  } >"$out/mutations.md"
  for mutation in tests/sim/mutations/*.mutation; do
    name=${mutation##*/}
    name=${name%.mutation}
    output=$("build/dev/mutations/simba-sim-${name//_/-}" --hunt 60 2>&1)
    rules=$(sed -n 's/^found by: //p' "$mutation" | head -n 1)
    rule='**not found**' seed='' after=''
    if [[ $output =~ $pattern ]]; then
      rule=${BASH_REMATCH[1]} seed=${BASH_REMATCH[2]} after=${BASH_REMATCH[3]}
      [[ ", $rules, " == *", $rule, "* ]] || rule="**$rule, which is none of: $rules**"
    fi
    [[ $rule != '**'* ]] || failed=1
    echo "| $(head -n 1 "$mutation") | $rule | $seed | $after |" >>"$out/mutations.md"
  done
  cat "$out/mutations.md"
  return $failed
}

run_chaos() {
  local resume=--resume
  [ -n "${CHAOS_RESUME:-}" ] || { rm -rf "$out/chaos"; resume=; }
  build/bin/simba-chaos --store all $resume --parallel "${CHAOS_PARALLEL:-$((2 * $(nproc)))}" \
    --seconds "${CHAOS_SECONDS:-600}" --out "$out/chaos" --report "$out/chaos.md"
}

# Both at once: they wait more than they compute.
run_soak() {
  local failed=0 store pids=() pid
  rm -f "$out"/soak-*.md
  for store in redis mariadb; do
    build/bin/simba-soak --store $store --seconds "${SOAK_SECONDS:-600}" \
      --report "$out/soak-$store.md" &
    pids+=($!)
  done
  trap 'kill "${pids[@]}" 2>/dev/null; wait' TERM
  for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
  # One table of both, then the rules, and what is wrong with the second.
  {
    sed -n 1,3p "$out/soak-redis.md"
    sed -n 3p "$out/soak-mariadb.md"
    sed 1,3d "$out/soak-redis.md"
    sed -n '/^Wrong/,/^$/p' "$out/soak-mariadb.md"
  } >"$out/soak.md"
  return $failed
}

# exec: it is the one to be told when all ends.
run_fuzz() { FUZZ_REPORT=$out/fuzz.md exec scripts/fuzz.sh "${FUZZ_SECONDS:-300}"; }

# row_of_sanitizer <name> <log>: the summary of scripts/test.sh as a row; fails where a test or all
# of it did.
row_of_sanitizer() {
  local name=$1 log=$2 passed failed total cases seconds skipped
  read -r passed failed < <(sed -En 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$log" | tail -n 1)
  total=$((${passed:-0} + ${failed:-0}))
  cases=$(sed -n 's/^tests of GoogleTest in these: //p' "$log" | tail -n 1)
  # Of the first run; what was run once more comes after it.
  seconds=$(sed -En 's/^Total Test time \(real\) = *([0-9.]+) sec.*/\1/p' "$log" | head -n 1)
  skipped=$(grep -Ec '^[[:space:]]+[0-9]+ - .* \(Skipped\)' "$log")
  if [ -z "$seconds" ] || [ "$total" -eq 0 ]; then
    echo "| $name | **none, see $log** | | | |"
    return 1
  fi
  [ "$failed" -eq 0 ] || failed="**$failed**"
  echo "| $name | ${cases:-$total} | $failed | $skipped | $seconds |"
  [ "$failed" = 0 ]
}

# Logs that were put there by hand get a stamp of now.
run_logs() {
  local failed=0
  [ -s "$out/sanitizers.stamp" ] || stamp sanitizers >"$out/sanitizers.stamp"
  {
    echo '| sanitizer | tests | failed | skipped | seconds of tests |'
    echo '|---|---:|---:|---:|---:|'
    row_of_sanitizer 'AddressSanitizer, UndefinedBehaviorSanitizer' "$out/asan.log" || failed=1
    row_of_sanitizer ThreadSanitizer "$out/tsan.log" || failed=1
  } >"$out/sanitizers.md"
  cat "$out/sanitizers.md"
  return $failed
}

run_sanitizers() {
  local failed=0 sanitizer pid
  trap 'kill "$pid" 2>/dev/null; wait; exit 130' TERM
  rm -f "$out"/{asan,tsan}.log
  for sanitizer in asan tsan; do
    make "$sanitizer" >"$out/$sanitizer.log" 2>&1 &
    pid=$!
    wait "$pid" || failed=1
  done
  run_logs || failed=1
  return $failed
}

# The commit, with a "+" when something but the page is not as it was there; nothing without git.
commit() {
  local name changes
  name=$(git rev-parse --short HEAD 2>/dev/null) || return 0
  changes=$(git --no-optional-locks status --porcelain -- . ":!$page")
  echo " commit $name${changes:++},"
}

# stamp <part>: when and where it was run, and what.
stamp() {
  local cpu compiler=c++
  cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
  [ "$1" != fuzz ] || compiler=clang++
  echo "$(date -u +%Y-%m-%d),$(commit) $(nproc) cores (${cpu:-unknown})," \
    "$(awk '/MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)," \
    "$(. /etc/os-release && echo "$PRETTY_NAME"), $($compiler --version | head -n 1)."
}

# Puts the table of a part between its marks.
write_part() {
  local part=$1
  [ -s "$out/$part.md" ] && [ -s "$out/$part.stamp" ] || return 0
  grep -q "^<!-- $part -->" "$page" || { echo "reliability: $page has no mark $part" >&2; return 1; }
  {
    sed "/^<!-- $part -->/q" "$page"
    echo
    cat "$out/$part.stamp"
    echo
    cat "$out/$part.md"
    echo
    sed -n "/^<!-- end of $part -->/,\$p" "$page"
  } >"$out/page.md"
  mv "$out/page.md" "$page"
}

run_write() {
  local part failed=0
  for part in "${parts[@]}"; do write_part "$part" || failed=1; done
  return $failed
}

child=
trap 'trap "" INT TERM; [ -z "$child" ] || { kill "$child"; wait "$child"; } 2>/dev/null; exit 130' INT TERM
failed=()
for part in "$@"; do
  declare -F "run_$part" >/dev/null || { echo "reliability: there is no part '$part'" >&2; exit 2; }
  echo "== reliability: $part ($(date -u +%H:%M:%S))"
  if [[ $part != write && $part != logs ]]; then
    rm -f "$out/$part.md"
    stamp "$part" >"$out/$part.stamp"
  fi
  "run_$part" &
  child=$!
  wait "$child" || failed+=("$part")
  child=
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "reliability: failed: ${failed[*]}" >&2
  exit 1
fi
echo "reliability: all is well: $*"
