#!/usr/bin/env bash
# Lets contenders of ours and of other libraries share a mutex on real servers, with owners killed and
# paused: the JVM library's own store on Redis (simba-spring-redis), Curator and kazoo on ZooKeeper.
# Prints tables of who owned the mutex when, and writes them into docs/interop.md; tests/interop/interop.py says what is measured and
# what fails. What is missing here is skipped by name.
# Usage: scripts/interop.sh
# INTEROP_STORES: which of "redis zookeeper" (both). INTEROP_SECONDS: of each run for shares (60).
# INTEROP_ROUNDS: of kills and pauses (3).
# The libraries come from Maven Central and PyPI, once, into build/interop.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$PWD/build/interop
page=docs/interop.md
jars=$work/jars
mkdir -p "$work"
skip() { echo "interop: skipped: $*" >&2; }

# The jars and our two programs on top of them; leaves "-" where that cannot be.
provide_jvm() {
  if [ ! -f "$jars/complete" ]; then
    command -v mvn >/dev/null || { skip "the JVM library and Curator: there is no mvn"; return 1; }
    command -v javac >/dev/null || { skip "the JVM library and Curator: there is no javac"; return 1; }
    rm -rf "$jars"
    mvn -q -B -f tests/interop/pom.xml dependency:copy-dependencies -DincludeScope=runtime \
      -DoutputDirectory="$jars" >"$work/mvn.log" 2>&1 ||
      { skip "the JVM library and Curator: Maven does not get them, see $work/mvn.log"; return 1; }
    touch "$jars/complete"
  fi
  javac -nowarn -d "$jars/classes" -cp "$jars/*" tests/interop/RedisContender.java tests/support/jvm/CuratorContender.java
}

provide_kazoo() {
  [ ! -x "$work/venv/bin/python" ] || "$work/venv/bin/python" -c 'import kazoo' 2>/dev/null || rm -rf "$work/venv"
  [ -x "$work/venv/bin/python" ] && return
  python3 -m venv "$work/venv" >"$work/venv.log" 2>&1 ||
    { skip "kazoo: no virtual environment, see $work/venv.log"; return 1; }
  "$work/venv/bin/pip" install -q kazoo >"$work/venv.log" 2>&1 ||
    { skip "kazoo: pip does not get it, see $work/venv.log"; rm -rf "$work/venv"; return 1; }
}

python=$work/venv/bin/python
provide_jvm || jars=-
provide_kazoo || python=-
[ "$jars$python" != -- ] || exit 0
libraries=$({
  [ "$jars" = - ] || (cd "$jars" && ls simba-spring-redis-*.jar curator-recipes-*.jar | sed 's/\.jar$//; s/-\([0-9]\)/ \1/')
  [ "$python" = - ] || "$work/venv/bin/pip" list 2>/dev/null | grep '^kazoo ' | tr -s ' '
} | paste -sd, | sed 's/,/, /g')
echo "interop: beside $libraries"
status=0
python3 tests/interop/interop.py build/bin "$jars" "$python" "$work" | tee "$work/report.md" || status=$?
# Only a whole run is worth a place on the page.
if [ "$jars" != - ] && [ "$python" != - ] && [ -z "${INTEROP_STORES-}" ]; then
  { printf '%s, beside %s.\n\n' "$(date -u +%Y-%m-%d)" "$libraries"; cat "$work/report.md"; } >"$work/text.md"
  awk -v text="$work/text.md" '
    /<!-- interop -->/ { print; print ""; while ((getline line < text) > 0) print line; hidden = 1 }
    /<!-- end -->/ { hidden = 0 }
    !hidden' "$page" >"$work/page" && cat "$work/page" >"$page"
fi
exit $status
