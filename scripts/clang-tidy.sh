#!/bin/sh
# clang-tidy, within a limit of time; for scripts/lint.sh. Now and then its data flow analysis does not converge:
# the order in which it looks at things depends on their addresses, which are others in the next try.
tool=clang-tidy-16
command -v "$tool" >/dev/null || tool=clang-tidy  # a release without version 16
for _ in 1 2 3; do
  timeout --verbose --kill-after=5 4m "$tool" "$@"
  status=$?
  [ $status -eq 124 ] || exit $status
done
echo "lint: clang-tidy found no end in three tries: $*" >&2
exit $status
