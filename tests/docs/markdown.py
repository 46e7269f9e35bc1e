"""What the tests of the documents read in a Markdown page: fenced blocks, links, anchors, inline code."""

import dataclasses
import re

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,}) *(?P<info>[^`]*)$")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$")
LINK = re.compile(r"\[(?:[^\]\[]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")
HTML_TARGET = re.compile(r"\b(?:src|srcset|href)=\"([^\"]+)\"")
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


@dataclasses.dataclass
class Block:
    """A fenced block. `words` are what follows the language: "gpu", "file=my.yaml"."""

    line: int
    language: str
    words: list
    text: str

    def value(self, name):
        """What a word "name=value" says, or None."""
        for word in self.words:
            if word.startswith(name + "="):
                return word[len(name) + 1:]
        return None


class Page:
    def __init__(self, text):
        self.blocks = []
        self.prose = []  # (line, text) of every line outside of blocks
        self.anchors = set()
        block, fence = None, ""
        for number, line in enumerate(text.splitlines(), 1):
            match = FENCE.match(line)
            if block is not None:
                if match and match["fence"].startswith(fence) and not match["info"].strip():
                    self.blocks.append(block)
                    block = None
                else:
                    block.text += line + "\n"
            elif match:
                language, *words = match["info"].split() or [""]
                block, fence = Block(number, language, words, ""), match["fence"]
            else:
                self.prose.append((number, line))
                if heading := HEADING.match(line):
                    self._add_anchor(heading[1])
        if block is not None:
            raise ValueError(f"the block of line {block.line} has no end")

    def _add_anchor(self, heading):
        name, count = slug(heading), 1
        while name in self.anchors:
            name, count = f"{slug(heading)}-{count}", count + 1
        self.anchors.add(name)

    def links(self):
        """(line, target) of every link and picture."""
        for line, text in self.prose:
            for pattern in (LINK, HTML_TARGET):
                for match in pattern.finditer(CODE.sub("code", text)):
                    yield line, match[1]

    def inline_code(self):
        for line, text in self.prose:
            for match in CODE.finditer(text):
                yield line, match[1]

    def sentences(self):
        """(line, beginning) of every sentence, list item and table cell."""
        for line, text in self.prose:
            for part in re.split(r"(?<=[.!?:])\s+|\|", text.lstrip("-*0123456789. \t#>")):
                yield line, part.strip(" *")


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = re.sub(r"[^\w\- ]", "", text.lower())
    return text.replace(" ", "-")


def commands(text):
    """The commands of a shell block: comments left out, lines that end in a backslash joined."""
    joined = re.sub(r"\\\n\s*", "", text)
    for line in joined.splitlines():
        line = re.sub(r"(^|\s)#.*$", "", line).strip()
        if line:
            yield line
