#!/usr/bin/env python3
"""Checks README and docs against what they describe. Run by ctest (cmake/SimbaDocuments.cmake).

check.py snippets --compiler CXX --include DIR [--include DIR ...] --work DIR
    Every C++ snippet compiles. One without a marker is compiled alone, exactly as a reader would paste
    it. A fragment has a marker above its fence, <!-- snippet: NAME -->: it is put into
    preambles/NAME.cpp, in place of the line "// SNIPPET". All fragments are compiled together.
check.py command --simba PROGRAM
    Every subcommand and option of `simba` that the documents name is in its help.
check.py links
    Every relative link leads to a file that exists and, where it names one, to a heading in it.
check.py names
    Every file, folder and class that ARCHITECTURE.md and tests/README.md name exists.
check.py tests
    Every test that guarantees.md, reliability.md and the decisions name exists.
check.py release
    CHANGELOG.md begins with "Unreleased", and its newest dated version is that of version.hpp and README.
"""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PREAMBLES = Path(__file__).resolve().parent / "preambles"
FENCE = re.compile(r"^ *```(\w*)")
MARKER = re.compile(r"^<!-- snippet: ([a-z-]+) -->$")


def documents():
    top = ["README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "DEPENDENCIES", "SECURITY"]
    files = [ROOT / f"{name}.md" for name in top + ["tests/README"]]
    return [file for file in files if file.exists()] + sorted((ROOT / "docs").rglob("*.md"))


class Fence:
    """A fenced block: its language, the number of its first line, its lines, and the line above."""

    def __init__(self, file, language, first, above):
        self.file, self.language, self.first, self.above = file, language, first, above
        self.lines = []

    @property
    def place(self):
        return f"{self.file.relative_to(ROOT)}:{self.first}"


def fences(file):
    found, current, above = [], None, ""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = FENCE.match(line)
        if current is not None and match:
            found.append(current)
            current = None
        elif current is not None:
            current.lines.append(line)
        elif match:
            current = Fence(file, match.group(1), number + 1, above)
        above = line
    if current is not None:
        sys.exit(f"{current.place}: the code block is not closed")
    return found


# ---- snippets --------------------------------------------------------------------------------
def line_directive(file, number):
    return f'#line {number} "{file.relative_to(ROOT)}"'


def fragment_in_namespace(fence, name, index):
    """The includes of a fragment and its preamble, and the rest in a namespace of its own."""
    preamble = PREAMBLES / f"{name}.cpp"
    if not preamble.exists():
        sys.exit(f"{fence.place}: there is no {preamble.relative_to(ROOT)}")
    includes, body = [], [f"namespace document_{index} {{", line_directive(preamble, 1)]
    seen = False
    for number, line in enumerate(preamble.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() == "// SNIPPET":
            seen = True
            body.append(line_directive(fence.file, fence.first))
            for code in fence.lines:
                is_include = code.startswith("#include")
                includes += [code] if is_include else []
                body.append("" if is_include else code)
            body.append(line_directive(preamble, number + 1))
        elif line.startswith("#include"):
            includes.append(line)
            body.append("")
        else:
            body.append(line)
    if not seen:
        sys.exit(f'{preamble.relative_to(ROOT)} has no line "// SNIPPET"')
    return includes, [*body, "}", ""]


def compile_all(compiler, includes, sources):
    """Several at a time; returns what the compiler says of those that fail."""
    flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wno-unused", "-Werror"]
    flags += [option for folder in includes for option in ("-I", folder)]
    waiting, running, failures = list(sources), [], []
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            command = [compiler, *flags, str(waiting.pop(0))]
            running.append(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE,
                                            stderr=subprocess.STDOUT, text=True))
        said, _ = running[0].communicate()
        if running.pop(0).returncode != 0:
            failures.append(said)
    return failures


def check_snippets(arguments):
    work = Path(arguments.work)
    work.mkdir(parents=True, exist_ok=True)
    sources, includes, bodies = [], [], []
    total = 0
    for file in documents():
        for fence in fences(file):
            if fence.language not in ("cpp", "c++"):
                continue
            total += 1
            marker = MARKER.match(fence.above)
            if marker:
                more, body = fragment_in_namespace(fence, marker.group(1), total)
                includes += [line for line in more if line not in includes]
                bodies += body
            else:
                source = work / f"snippet-{total}.cpp"
                source.write_text("\n".join([line_directive(file, fence.first), *fence.lines, ""]),
                                  encoding="utf-8")
                sources.append(source)
    fragments = work / "fragments.cpp"
    fragments.write_text("\n".join([*includes, *bodies]), encoding="utf-8")
    failures = compile_all(arguments.compiler, arguments.include, [fragments, *sources])
    for said in failures:
        print(said, file=sys.stderr)
    if total == 0:
        sys.exit("no snippet was found: is this the right folder?")
    if failures:
        sys.exit("not every C++ snippet of the documents compiles")
    print(f"{total} C++ snippets compile, {len(sources)} of them as they are")


# ---- the command -----------------------------------------------------------------------------
def help_of(program, *words):
    return subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout


def options_in(text):
    return set(re.findall(r"(?<![\w-])(--[a-z][a-z-]*|-[a-zA-Z])(?![\w-])", text))


def command_lines(file):
    """Every `simba ...` in a code span or a shell block, with its place."""
    text = file.read_text(encoding="utf-8")
    for fence in fences(file):
        if fence.language in ("sh", "bash"):
            for offset, line in enumerate(fence.lines):
                for part in re.split(r"[;|]", line.split("  #")[0]):
                    yield f"{file.relative_to(ROOT)}:{fence.first + offset}", part.strip()
    for number, line in enumerate(text.splitlines(), 1):
        for span in re.findall(r"`([^`]+)`", line):
            yield f"{file.relative_to(ROOT)}:{number}", span.strip()


def check_command(arguments):
    overall = help_of(arguments.simba).split("\nExamples:")[0]  # those have options of subcommands
    names = re.findall(r"^  ([a-z]+) {2,}", overall, re.MULTILINE)
    if "run" not in names:
        sys.exit(f"the help of simba lists no subcommand run:\n{overall}")
    options = {name: options_in(help_of(arguments.simba, name)) | options_in(overall) for name in names}
    every_option = set().union(*options.values())
    problems, checked = [], 0
    for file in documents():
        for place, line in command_lines(file):
            words = re.sub(r"^(?:[A-Z_]+=\S+ +)+", "", line).split(" -- ")[0].split()
            if words[:1] in (["build/bin/simba"], ["simba"]) and len(words) > 1:
                name = next((word for word in words[1:] if word in names), None)
                if name is None and re.fullmatch(r"[a-z]+", words[1]):
                    problems.append(f"{place}: simba has no command {words[1]}")
                    continue
                checked += 1
                unquoted = re.sub(r"'[^']*'|\"[^\"]*\"", "", " ".join(words[1:]))
                unknown = options_in(unquoted) - (options[name] if name else every_option)
                problems += [f"{place}: simba {name or ''} has no option {option}" for option in unknown]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{checked} uses of simba in the documents agree with its help")


# ---- links -----------------------------------------------------------------------------------
def anchors(file):
    """As GitHub makes them from headings."""
    found, inside = set(), False
    for line in file.read_text(encoding="utf-8").splitlines():
        if FENCE.match(line):
            inside = not inside
        if line.startswith("#") and not inside:
            title = re.sub(r"[`*]|\]\([^)]*\)|\[", "", line.lstrip("#").strip()).lower()
            found.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    return found


def check_links(_):
    problems, checked = [], 0
    for file in documents():
        text = re.sub(r"^ *```.*?^ *```", lambda block: "\n" * block.group().count("\n"),
                      file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for match in re.finditer(r"\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$", text, re.MULTILINE):
            link = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", link):
                continue
            checked += 1
            place = f"{file.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}"
            path, _, anchor = link.partition("#")
            target = (file.parent / path).resolve() if path else file
            if not target.exists():
                problems.append(f"{place}: {path} does not exist")
            elif anchor and anchor not in anchors(target):
                problems.append(f"{place}: {path or file.name} has no heading #{anchor}")
    if problems:
        sys.exit("\n".join(problems))
    print(f"{checked} links of the documents lead somewhere")


# ---- names -----------------------------------------------------------------------------------
def check_names(_):
    tree = subprocess.run(["find", "cli", "cmake", "docs", "examples", "include", "scripts", "src", "testkit", "tests"],
                          cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    paths = {"/" + path for path in tree}
    paths |= {path.rsplit(".", 1)[0] for path in paths}
    sources = [ROOT / path for path in tree if path.endswith((".hpp", ".cpp")) and not path.startswith("tests/unit/")]
    words = set(re.findall(r"\w+", "\n".join(source.read_text(encoding="utf-8") for source in sources)))
    problems, checked = [], 0
    for file in [ROOT / "ARCHITECTURE.md", ROOT / "tests/README.md"]:
        language = None
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if match := FENCE.match(line):
                language = match.group(1) if language is None else None
            names = re.findall(r"[A-Z][a-z]+[A-Z]\w+", line) if language == "" else []  # a diagram
            for quoted in [] if language is not None else re.findall(r"`([^`]+)`|\*\*([^*]+)\*\*", line):
                name = (quoted[0] or quoted[1]).strip("./")
                if re.fullmatch(r"[\w./-]+\.(cpp|hpp|md|sh|py)|(cli|docs|include|scripts|src|testkit|tests)/[\w./-]+", name):
                    checked += 1
                    if not any(path.endswith("/" + name) for path in paths):
                        problems.append(f"{file.relative_to(ROOT)}:{number}: {name} does not exist")
                elif re.fullmatch(r"(\w+::)*[A-Z][a-z]\w+", name):
                    names.append(name.split("::")[-1])
            checked += len(names)
            problems += [f"{file.relative_to(ROOT)}:{number}: the sources do not have {name}"
                         for name in names if name not in words]
    if problems:
        sys.exit("\n".join(problems))
    print(f"{checked} names in the documents exist")


# ---- tests that are named ----------------------------------------------------------------------
def check_tests(_):
    """`Suite.Name`, `Suite.*`, `*Contract.Name`: the words are looked for in the sources of the tests."""
    sources = [*ROOT.glob("tests/**/*.cpp"), *ROOT.glob("tests/**/*.hpp"), *ROOT.glob("testkit/**/*.cpp"),
               *ROOT.glob("cmake/*.cmake"), *ROOT.glob("tests/**/CMakeLists.txt")]
    words = set()
    for source in sources:
        words.update(re.findall(r"\w+", source.read_text(encoding="utf-8", errors="replace")))
    # A suite of contract tests is made of the name of its store.
    words.update(f"{word}Contract" for word in list(words))
    problems, checked = [], 0
    pages = [ROOT / "docs/guarantees.md", ROOT / "docs/reliability.md", *(ROOT / "docs/decisions").glob("*.md")]
    for file in pages:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            for suite, name in re.findall(r"`(\*?[A-Z]\w+)\.(\*|[A-Z]\w+\*?)`", line):
                checked += 1
                for word in (suite, name):
                    known = (word == "*" or word in words or
                             "*" in word and any(word.strip("*") in other for other in words))
                    if not known:
                        problems.append(f"{file.relative_to(ROOT)}:{number}: there is no test {suite}.{name}")
    if problems:
        sys.exit("\n".join(sorted(set(problems))))
    print(f"{checked} tests that the documents name exist")


# ---- the release -----------------------------------------------------------------------------
def check_release(_):
    def text_of(path):
        return (ROOT / path).read_text(encoding="utf-8")

    version = re.search(r'version = "([^"]+)"', text_of("include/simba/version.hpp")).group(1)
    headings = re.findall(r"^## (.+)$", text_of("CHANGELOG.md"), re.MULTILINE)
    problems = []
    if headings[:1] != ["Unreleased"]:
        problems.append('CHANGELOG.md: the first section must be "Unreleased"')
    if not headings[1:] or not re.fullmatch(re.escape(version) + r" - \d{4}-\d\d-\d\d", headings[1]):
        problems.append(f'CHANGELOG.md: the second section must be "{version} - <date>", after version.hpp')
    if not re.search(rf"^\*\*Status\*\*: {re.escape(version)}\b", text_of("README.md"), re.MULTILINE):
        problems.append(f"README.md: the status must name {version}, after version.hpp")
    if problems:
        sys.exit("\n".join(problems))
    print(f"{version} is the latest release in CHANGELOG.md and README.md")


def main():
    parser = argparse.ArgumentParser()
    checks = parser.add_subparsers(dest="check", required=True)
    snippets = checks.add_parser("snippets")
    snippets.add_argument("--compiler", required=True)
    snippets.add_argument("--include", action="append", default=[])
    snippets.add_argument("--work", required=True)
    snippets.set_defaults(run=check_snippets)
    command = checks.add_parser("command")
    command.add_argument("--simba", required=True)
    command.set_defaults(run=check_command)
    checks.add_parser("links").set_defaults(run=check_links)
    checks.add_parser("tests").set_defaults(run=check_tests)
    checks.add_parser("names").set_defaults(run=check_names)
    checks.add_parser("release").set_defaults(run=check_release)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
