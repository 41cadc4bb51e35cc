"""The manual page netwarp(1): every command with its options, from the command line's own definitions."""

import re

from netwarp.cli.application import SUMMARY

from tools.command_line import EXIT_CODES, OF_OBSERVER, commands

_HEAD = f""".TH NETWARP 1 "" netwarp "User commands"
.SH NAME
netwarp \\- {SUMMARY[0].lower()}{SUMMARY[1:].rstrip(".")}
.SH SYNOPSIS
.B netwarp
.I COMMAND
[\\fIOPTIONS\\fR]
.SH DESCRIPTION
One scenario file names nodes, links, queues, traffic and what changes when. netwarp runs it on a real Linux kernel
whose clock skips every wait, and records every ACK and every packet in every queue.
.PP
.B netwarp run bufferbloat
runs a shipped scenario,
.B netwarp list
lists them, and
.B netwarp new
writes one to start from.
.B netwarp help
.I COMMAND
prints a part of this page.
.SH COMMANDS"""


def source() -> str:
    """The page, in the macros of man(7)."""
    lines = [_HEAD]
    for one in commands():
        lines += [f".SS {_text(one.usage)}"]
        lines += [line for paragraph in one.text.split("\n\n") for line in (_text(paragraph), ".PP")][:-1]
        if one.words in OF_OBSERVER:
            lines += [".PP", f".B netwarp {one.words} \\-\\-help", "lists its options."]
        for option in one.options:
            default = f" Default: {option.default}." if option.default else ""
            lines += [".TP", f".B {_text(option.written)}", _text(option.meaning + default)]
    lines += [".SH EXIT STATUS"]
    for code, meaning in EXIT_CODES.items():
        lines += [".TP", f".B {code}", _text(meaning)]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Escape what roff would interpret."""
    plain = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return re.sub(r"^([.'])", r"\\&\1", plain)
