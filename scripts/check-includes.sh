#!/usr/bin/env bash
# Checks that the table "Parts, and what each may include" of ARCHITECTURE.md and the #include lines of our
# sources agree: no part includes what its row does not name, and no row names what its part does not
# include. Usage: scripts/check-includes.sh [root]   (default: this repository)
set -euo pipefail
cd "${1:-"$(dirname "$0")/.."}"

{ find include src cli testkit examples -name '*.[ch]pp' 2>/dev/null || true; } | sort |
  xargs -r -d '\n' grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' |
  awk -v table=ARCHITECTURE.md '
  function complain(text) { print text; failed = 1 }

  # The words in backquotes of a cell, as keys of "words".
  function read_words(cell, words,   n, i, pieces) {
    split("", words)
    n = split(cell, pieces, "`")
    for (i = 2; i <= n; i += 2) words[pieces[i]] = 1
  }

  # A row: | `part` | what it is | public headers of | internal headers |
  function read_table(   line, cells, words, word, reading) {
    while ((getline line < table) > 0) {
      if (line ~ /^## /) reading = line ~ /^## Parts, and what each may include/
      if (!reading || line !~ /^\| `/) continue
      split(line, cells, "|")
      read_words(cells[2], words)
      for (part in words) break
      rank[part] = ++parts
      read_words(cells[4], words)
      for (word in words) public[part, word] = table ": `" part "` does not include public headers of `" word "`"
      read_words(cells[5], words)
      for (word in words) internal[part, word] = table ": `" part "` does not include internal headers of `" word "`"
    }
    if (!parts) complain(table ": no table \"Parts, and what each may include\"")
  }

  # The part of a path from the root.
  function part_of(path,   pieces, n) {
    n = split(path, pieces, "/")
    if (pieces[1] == "src") return pieces[2]
    if (pieces[1] == "include") return n > 3 ? pieces[3] : pieces[3] == "version.hpp" ? "core" : "client"
    return pieces[1]
  }

  # Where an #include leads, as a path from the root; empty if it is not ours, generated, or beside its file.
  function target_of(file, included,   folder, first) {
    if (included ~ /^simba\//) return "include/" included
    if (included ~ /^\.\.?\//) {
      folder = file
      sub(/\/[^\/]*$/, "", folder)
      while (sub(/^\.\//, "", included) || (sub(/^\.\.\//, "", included) && sub(/\/?[^\/]*$/, "", folder))) {}
      return folder "/" included
    }
    first = included
    if (!sub(/\/.*/, "", first) || included !~ /\.hpp$/ || !(first in rank)) return ""
    return (first == "cli" || first == "testkit" || first == "examples" ? "" : "src/") included
  }

  BEGIN { read_table() }
  {
    file = $0; sub(/:.*/, "", file)
    place = $0; sub(/^[^:]*:/, "", place); sub(/:.*/, "", place); place = file ":" place
    included = $0; sub(/^[^<"]*[<"]/, "", included); sub(/[>"].*/, "", included)

    from = part_of(file)
    if (!(from in rank)) {
      if (!(from in unknown)) complain(place ": part `" from "` has no row in the table of " table)
      unknown[from] = 1
      next
    }
    target = target_of(file, included)
    if (target == "") next
    to = part_of(target)
    hidden = target !~ /^include\//
    if (hidden && file ~ /^include\//) complain(place ": a public header includes the internal " included)
    if (to == from) next
    if (rank[to] >= rank[from]) complain(place ": `" from "` includes " included ", but the table has `" to "` below it")
    if (!hidden) {
      if ((from, to) in public) public[from, to] = ""
      else complain(place ": `" from "` may not include public headers of `" to "`")
      next
    }
    allowed = 0
    name = target; sub(/^src\//, "", name); sub(/\.hpp$/, "", name)
    do {
      if ((from, name) in internal) { internal[from, name] = ""; allowed = 1 }
    } while (sub(/\/[^\/]*$/, "", name))
    if (!allowed) complain(place ": `" from "` may not include the internal " included)
  }
  END {
    for (edge in public) if (public[edge] != "") complain(public[edge])
    for (edge in internal) if (internal[edge] != "") complain(internal[edge])
    if (failed) exit 1
    print "includes: " NR " are as " table " says"
  }'
