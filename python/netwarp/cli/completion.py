"""Completion in a shell: `netwarp --install-completion`, and the answers that a shell asks for at the Tab key.

The script of a shell (`shells/`) passes the words up to the cursor in CYCLOPTS_COMPLETION_WORDS to
`netwarp __complete`, whose answer cyclopts writes: a line for each candidate, with its description after a tab.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Literal, NoReturn, get_args

from netwarp.cli.common import OK, USAGE, errors, say
from netwarp.cli.options import Flag

_WORDS = "CYCLOPTS_COMPLETION_WORDS"
_SEPARATOR = "\x1f"
_OBSERVERS = ("pcap", "watch")
_MARK = "# netwarp: completion"

Shell = Literal["bash", "zsh", "fish"]
_SHELLS: tuple[Shell, ...] = get_args(Shell)


def install_completion(shell: Shell | None = None, /, *, script: Flag = False) -> int:
    """Set up completion in your shell: commands, options, scenarios, settings, metrics, figures and kernels.

    It writes a script to where your shell looks for it, and for bash and zsh adds a line to ~/.bashrc or ~/.zshrc.

    Parameters
    ----------
    shell
        The shell; default: the one of $SHELL.
    script
        Print the script instead, for a package or a set-up of your own.
    """
    with errors():
        chosen = shell or _own_shell()
        text = (Path(__file__).parent / "shells" / f"netwarp.{chosen}").read_text()
        if script:
            sys.stdout.write(text)
            return OK
        path = _place(chosen)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        say(f"completion for {chosen}: {path}")
        if (start := _start_line(chosen, path)) is not None and _add(*start):
            say(f"it is loaded by a line in {start[0]}")
        say(f"start a new shell, or run: exec {chosen}")
    return OK


def _own_shell() -> Shell:
    name = Path(os.environ.get("SHELL", "")).name
    for shell in _SHELLS:
        if name == shell:
            return shell
    found = f"your shell ($SHELL) is {name}" if name else "$SHELL is not set"
    say(f"error: {found}; name one: netwarp --install-completion bash, zsh or fish", style="red")
    sys.exit(USAGE)


def _place(shell: Shell) -> Path:
    """The file of a shell's script for netwarp, in the user's home directory."""
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return {
        "bash": data / "bash-completion/completions/netwarp",
        "zsh": data / "zsh/site-functions/_netwarp",
        "fish": config / "fish/completions/netwarp.fish",
    }[shell]


def _start_line(shell: Shell, path: Path) -> tuple[Path, str] | None:
    """The file that a shell reads when it starts, and the line that loads the script; None if none is needed."""
    if shell == "bash":  # bash finds it without this line only if the package bash-completion is installed
        return Path.home() / ".bashrc", f'[ -r "{path}" ] && . "{path}"  {_MARK}'
    if shell == "zsh":
        start = Path(os.environ.get("ZDOTDIR") or Path.home()) / ".zshrc"
        compinit = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }"
        return start, f'{compinit}; [ -r "{path}" ] && . "{path}"  {_MARK}'
    return None


def _add(file: Path, line: str) -> bool:
    """Put the line at the end of a file, in place of an earlier one; return False if it is there already."""
    before = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    kept = "".join(each for each in before.splitlines(keepends=True) if not each.rstrip().endswith(_MARK))
    after = f"{kept}{'' if not kept or kept.endswith(chr(10)) else chr(10)}{line}\n"
    if after == before:
        return False
    file.write_text(after, encoding="utf-8", errors="surrogateescape")
    return True


def answer() -> NoReturn:
    """Print the candidates for the words that a script passes. A word that cannot be completed has none."""
    from netwarp.cli.application import ASK_FOR_COMPLETION, application, commands

    words = os.environ.get(_WORDS, _SEPARATOR).split(_SEPARATOR)[:-1]
    if len(words) > 1 and words[0] in _OBSERVERS:
        _print_options_of_observer(words[0], words[-1])
    else:
        app = application([words[0]] if len(words) > 1 and words[0] in commands() else None)
        app([ASK_FOR_COMPLETION], exit_on_error=False)
    sys.stdout.flush()
    sys.exit(OK)


def _print_options_of_observer(command: str, typed: str) -> None:
    """Print the options of a command of the observer, from its help; any other word is a file."""
    from netwarp.common.agent import AgentError, find_observer

    print(f"{_SEPARATOR}begin")
    if not typed.startswith("-"):
        print(f"{_SEPARATOR}files")
        return
    try:
        help_ = subprocess.run([find_observer(), command, "--help"], capture_output=True, text=True, check=False).stdout
    except (AgentError, OSError):
        return
    for option in dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][a-z-]*", help_)):
        if option.startswith(typed):
            print(option)
