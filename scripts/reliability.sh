#!/usr/bin/env bash
# Runs the long tests, all of them even when one fails; their tables are left in build/reliability.
# Usage: scripts/reliability.sh [part ...]
# Parts: simulation mutations chaos soak fuzz     (default: all; about an hour and a half)
#        write: puts the tables of the last runs into docs/reliability.md, between the marks there
# SIM_HOURS, CHAOS_SECONDS, SOAK_SECONDS, FUZZ_SECONDS: how long each takes (1000, 600, 600, 300).
# CHAOS_PARALLEL: how many stores are broken at the same time (default: 2 for each processor).
set -uo pipefail
cd "$(dirname "$0")/.."
out=build/reliability
page=docs/reliability.md
parts=(simulation mutations chaos soak fuzz)
[ $# -gt 0 ] || set -- "${parts[@]}"
mkdir -p "$out"

run_simulation() {
  build/bin/simba-sim --hours "${SIM_HOURS:-1000}" --report "$out/simulation.md"
}

# Each mistake in the engine must be found; the table tells how soon.
run_mutations() {
  local failed=0 mutation name output
  {
    echo '| mistake | found by | in seed | after |'
    echo '|---|---|---|---|'
  } >"$out/mutations.md"
  for mutation in tests/sim/mutations/*.mutation; do
    name=${mutation##*/}
    name=${name%.mutation}
    output=$("build/dev/mutations/simba-sim-${name//_/-}" --hunt 60 2>&1)
    if [[ $output =~ found:\ ([^$'\n']*)\ in\ seed\ ([0-9]+)\ after\ ([^$'\n']*) ]]; then
      echo "| $(head -n 1 "$mutation") | ${BASH_REMATCH[1]} | ${BASH_REMATCH[2]} | ${BASH_REMATCH[3]} |"
    else
      echo "| $(head -n 1 "$mutation") | **not found** | | |"
      failed=1
    fi >>"$out/mutations.md"
  done
  cat "$out/mutations.md"
  return $failed
}

run_chaos() {
  rm -rf "$out/chaos"
  build/bin/simba-chaos --store all --parallel "${CHAOS_PARALLEL:-$((2 * $(nproc)))}" \
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

run_fuzz() { scripts/fuzz.sh "${FUZZ_SECONDS:-300}"; }

# stamp <part>: when and where it was run.
stamp() {
  local cpu compiler=c++
  cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
  [ "$1" != fuzz ] || compiler=clang++
  echo "$(date -u +%Y-%m-%d), $(nproc) cores (${cpu:-unknown})," \
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
  if [ "$part" != write ]; then
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
