"""docs/commands.md: every command with its options, from the command line's own definitions."""

from tools.command_line import EXIT_CODES, OF_OBSERVER, Command, commands

_HEAD = """# Commands

What `netwarp help COMMAND` prints, on one page; `man netwarp` has it as well.

- `netwarp --install-completion` sets up completion in bash, zsh or fish: commands, options, scenarios, what `--set` can
  set and to what, metrics, figures, kernels.
- `--json` prints what a command otherwise prints as a table, for other programs.
- Text of `--set` and `--sweep` needs no quotes ([scenario.md](scenario.md)).
"""


def markdown() -> str:
    """The page as it is committed."""
    found = list(commands())
    lines = [_HEAD, "| command | what it does |", "|---|---|"]
    lines += [f"| [`{one.words}`](#{_anchor(one)}) | {_cell(one.summary)} |" for one in found]
    for one in found:
        lines += ["", f"## {one.words}", "", "```text", one.usage, "```", one.text]
        if one.words in OF_OBSERVER:
            lines += ["", f"Its options: [{OF_OBSERVER[one.words]}]({OF_OBSERVER[one.words].removeprefix('docs/')})."]
        if one.options:
            lines += ["", "| option | meaning |", "|---|---|"]
            for option in one.options:
                default = f" Default: `{option.default}`." if option.default else ""
                lines.append(f"| `{option.written}` | {_cell(option.meaning)}{default} |")
    lines += ["", "## Exit codes", "", "| code | meaning |", "|---|---|"]
    lines += [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    return "\n".join(lines) + "\n"


def _anchor(command: Command) -> str:
    return command.words.replace(" ", "-")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")
