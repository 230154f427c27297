"""What goes wrong, in the words and the shape of the program: what, where, the value seen, and what to do."""

from __future__ import annotations


class Error(Exception):
    """A user's mistake, or a file that cannot be used. `where` names the file (with its line) or the argument."""

    def __init__(self, what: str, *, where: str = "", value: str = "", hint: str = "") -> None:
        self.what, self.where, self.value, self.hint = what, where, value, hint
        lines = [what]
        lines += [f"  where: {where}"] if where else []
        lines += [f"  value: {value}"] if value else []
        lines += [f"  hint:  {hint}"] if hint else []
        super().__init__("\n".join(lines))


class ProgramError(Error):
    """The program refused or failed. The text is its own message; `exit_code` is what it returned: 1 failure, 2 bad
    usage, config or input file, 128 + a signal's number when it was interrupted."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code
