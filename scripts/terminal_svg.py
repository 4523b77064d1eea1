#!/usr/bin/env python3
"""Runs a program on a terminal of its own and draws what it shows as a moving SVG.

Usage: terminal_svg.py FILE PROGRAM [ARGUMENT...]

Knows those control sequences that our programs use: colours, cursor up, erase to the end of the
screen or of the line, carriage return. The picture plays for ever; where nothing moves (print, or a
viewer without animation) it shows the last frame.
"""

import codecs
import fcntl
import html
import os
import pty
import re
import struct
import sys
import termios
import time

COLUMNS, ROWS = 92, 36
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 14
LAST_FRAME_SECONDS = 6.0
SHORTEST_FRAME_SECONDS = 0.05
SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")
STYLES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c"}
STYLE_SHEET = (
    ".b{font-weight:bold}.d{fill:#8b949e}.r{fill:#ff7b72}.g{fill:#56d364}"
    ".y{fill:#e3b341}.c{fill:#76e3ea}"
)


class Screen:
    """What a terminal shows: rows of cells, each a character and a style."""

    def __init__(self):
        self.rows = [[]]
        self.row = 0
        self.column = 0
        self.style = ""
        self.pending = ""

    def write(self, text):
        text = self.pending + text
        self.pending = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                match = SEQUENCE.match(text, at)
                if not match:
                    if len(text) - at < 16:  # the rest of it comes later
                        self.pending = text[at:]
                        return
                    at += 1
                    continue
                self.control(match.group(1), match.group(2))
                at = match.end()
                continue
            self.put(text[at])
            at += 1

    def control(self, number, letter):
        if letter == "m":
            self.style = STYLES.get(number, "")
        elif letter == "A":
            self.row = max(0, self.row - int(number or 1))
            self.column = min(self.column, len(self.rows[self.row]))
        elif letter in "JK":
            del self.rows[self.row][self.column :]
            if letter == "J":
                del self.rows[self.row + 1 :]

    def put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.row += 1
            if self.row == len(self.rows):
                self.rows.append([])
        else:
            line = self.rows[self.row]
            line.extend([(" ", "")] * (self.column - len(line)))
            line[self.column : self.column + 1] = [(character, self.style)]
            self.column += 1

    def picture(self):
        """The rows that are seen, each a tuple of (text, style)."""
        lines = []
        for row in self.rows[-ROWS:]:
            spans = []
            for character, style in row:
                if spans and spans[-1][1] == style:
                    spans[-1] = (spans[-1][0] + character, style)
                else:
                    spans.append((character, style))
            lines.append(tuple(spans))
        return tuple(lines)


def record(command):
    """Runs the command and returns its frames, each a moment and a picture."""
    process, terminal = pty.fork()
    if process == 0:
        os.environ.update(TERM="xterm-256color")
        os.environ.pop("NO_COLOR", None)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.execvp(command[0], command)
    screen, frames, begin = Screen(), [], time.monotonic()
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        screen.write(decoder.decode(piece))
        frames.append((time.monotonic() - begin, screen.picture()))
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status != 0:
        sys.exit(f"{' '.join(command)} ended with {status}")
    return frames


def thinned(frames):
    """Without frames that are the same or too short to be seen."""
    kept = []
    for moment, picture in frames:
        if kept and kept[-1][1] == picture:
            continue
        if kept and moment - kept[-1][0] < SHORTEST_FRAME_SECONDS:
            kept[-1] = (kept[-1][0], picture)
        else:
            kept.append((moment, picture))
    return kept


def svg(title, frames):
    height_in_rows = max(len(picture) for _, picture in frames)
    width = COLUMNS * CELL_WIDTH + 2 * MARGIN
    height = height_in_rows * CELL_HEIGHT + 2 * MARGIN
    first = frames[0][0]
    whole = frames[-1][0] - first + LAST_FRAME_SECONDS

    # Each line of text is drawn once for as long as it stays the same.
    shown = []  # row, spans, from, to
    for row in range(height_in_rows):
        line, since = (), 0.0
        for moment, picture in frames:
            now = picture[row] if row < len(picture) else ()
            if now != line:
                shown.append((row, line, since, moment - first))
                line, since = now, moment - first
        shown.append((row, line, since, whole))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}">',
        f"<title>{html.escape(title)}</title>",
        f"<style>text{{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#e6edf3;"
        f"white-space:pre}}{STYLE_SHEET}</style>",
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
    ]
    for row, line, since, until in shown:
        if not "".join(text for text, _ in line).strip() or since == until:
            continue
        y = MARGIN + (row + 0.75) * CELL_HEIGHT
        spans, column = "", 0
        for text, style in line:
            x = MARGIN + column * CELL_WIDTH
            length = len(text) * CELL_WIDTH
            css = f' class="{style}"' if style else ""
            if text.strip():
                spans += (
                    f'<tspan x="{x:.1f}" textLength="{length:.1f}"{css}>{html.escape(text)}</tspan>'
                )
            column += len(text)
        stays = until == whole
        motion = ""
        if not (stays and since == 0.0):
            times, values = ["0"], ["1" if since == 0.0 else "0"]
            for moment, value in ((since, "1"), (until, "0")):
                if 0.0 < moment < whole:
                    times.append(f"{moment / whole:.4f}")
                    values.append(value)
            motion = (
                f'<animate attributeName="opacity" calcMode="discrete" dur="{whole:.2f}s" '
                f'repeatCount="indefinite" keyTimes="{";".join(times)}" '
                f'values="{";".join(values)}"/>'
            )
        hidden = "" if stays else ' opacity="0"'
        parts.append(f'<text y="{y:.1f}"{hidden}>{spans}{motion}</text>')
    parts.append("</svg>\n")
    return "\n".join(parts)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    target, command = sys.argv[1], sys.argv[2:]
    frames = thinned(record(command))
    title = " ".join([os.path.basename(command[0]), *command[1:]])
    with open(target, "w", encoding="utf-8") as file:
        file.write(svg(title, frames))
    print(f"{target}: {len(frames)} frames, {frames[-1][0]:.1f} s")


if __name__ == "__main__":
    main()
