"""The command line as bash has it: one text, of which readline replaces the part after the last break."""

from __future__ import annotations

_QUOTED = frozenset(" \t\n!\"#$&'()*;<>?[\\]^`{|}~")
"""The characters that bash does not take as they are in every place."""

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
        is_word = is_escaped = False
        before = 0
        for char in text:
            if is_escaped:
                # between double quotes, a backslash is one before most characters
                self.words[-1] += f"\\{char}" if self._quote == '"' and char not in '"\\$`' else char
                is_escaped = False
            elif char == "\\" and self._quote != "'":
                is_word = is_escaped = True
            elif self._quote:
                if char == self._quote:
                    self._quote, self._kept = "", before
                else:
                    self.words[-1] += char
            elif char in "'\"":
                self._quote, is_word = char, True
                before, self._kept = self._kept, len(self.words[-1])
            elif char in " \t\n":
                if is_word:
                    self.words.append("")
                is_word, self._kept = False, 0
            else:
                is_word = True
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
            # readline closes the quote, and adds the blank itself
            return rest.removesuffix(" ")
        end = " " if rest.endswith(" ") else ""
        return "".join(f"\\{char}" if char in _QUOTED else char for char in rest.removesuffix(" ")) + end
