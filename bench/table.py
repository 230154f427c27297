"""Tables that are printed line by line, aligned for a terminal or as Markdown. The processor stands above each."""

from machine import processor


class Table:
    def __init__(self, headings, is_markdown):
        """headings: each with the width of its column in a terminal."""
        self.widths = [max(width, len(heading)) for heading, width in headings.items()]
        self.is_markdown = is_markdown
        print(f"{processor()}:\n", flush=True)
        self.add(*headings)
        if is_markdown:
            self.add(*["---"] * len(headings))

    def add(self, *cells):
        if self.is_markdown:
            print("| " + " | ".join(cells) + " |", flush=True)
        else:
            print("  ".join(cell.ljust(width) for cell, width in zip(cells, self.widths)).rstrip(), flush=True)
