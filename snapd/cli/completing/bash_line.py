"""The command line as bash has it: one text, of which readline replaces the part after the last break."""

from __future__ import annotations

_QUOTED = frozenset(" \t\n!\"#$&'()*;<>?[\\]^`{|}~")
"""The characters that bash does not take as they are in every place."""

_ESCAPED = {'"': {char: f"\\{char}" for char in '"\\$`'}, "'": {"'": "'\\''"}, "$'": {"'": "\\'", "\\": "\\\\"}}
"""How a character is written between quotes, where it is not written as it is."""
_ESCAPED['"']["!"] = "\"'!'\""
"""Between double quotes, bash looks for earlier commands and keeps a backslash before the character."""

_KEPT = frozenset("@$")
"""The breaks that readline takes into the part that begins there, `rl_special_prefixes` of bash."""


class Line:
    """A command line up to the cursor.

    Args:
        text: of the line.
        breaks: the characters at which readline begins a word, `COMP_WORDBREAKS`.

    Attributes:
        words: the words without their quotes; the last one is not finished, and may be empty.
    """

    def __init__(self, text: str, breaks: str) -> None:
        self._breaks = breaks
        self._quote = ""
        self.words = [""]
        self._kept = 0
        self._read(text)

    def _read(self, text: str) -> None:
        is_word = is_escaped = is_dollar = False
        before = 0
        for char in text:
            # $"..." is to be translated, and $'...' has backslashes; $$ is the shell's process
            follows_dollar, is_dollar = is_dollar, False
            if is_escaped:
                # between quotes, a backslash is one before most characters
                known = {'"': '"\\$`', "$'": "'\"\\"}.get(self._quote, char)
                self.words[-1] += char if char in known else f"\\{char}"
                is_escaped = False
            elif char == "\\" and self._quote != "'":
                is_word = is_escaped = True
            elif self._quote:
                if char == self._quote[-1]:
                    self._quote, self._kept = "", before
                else:
                    self.words[-1] += char
            elif char in "'\"":
                self._quote, is_word = char, True
                if follows_dollar:
                    self.words[-1] = self.words[-1][:-1]
                    self._quote = "$'" if char == "'" else char
                before, self._kept = self._kept, len(self.words[-1])
            elif char in " \t\n":
                if is_word:
                    self.words.append("")
                is_word, self._kept = False, 0
            else:
                is_word, is_dollar = True, char == "$" and not follows_dollar
                self.words[-1] += char
                if char in self._breaks:
                    self._kept = len(self.words[-1]) - (char in _KEPT)

    def reply(self, candidate: str) -> str:
        """What readline is to put in place of its part of the last word.

        Args:
            candidate: the whole word; with a blank at its end where the word is finished then.
        """
        rest = candidate[self._kept :]
        if self._quote:
            # readline closes the quote, and adds the blank itself; all else it takes as it is
            escaped = _ESCAPED[self._quote]
            return "".join(escaped.get(char, char) for char in rest.removesuffix(" "))
        end = " " if rest.endswith(" ") else ""
        return "".join(f"\\{char}" if char in _QUOTED else char for char in rest.removesuffix(" ")) + end
