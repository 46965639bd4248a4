"""Aligned lines: folded to the width of a terminal, and nowhere else."""

from collections.abc import Sequence
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from domain.sanitising import on_one_line

_GAP: Final = "  "


def print_table(
    console: Console, columns: Sequence[str], rows: Sequence[tuple[object, ...]]
) -> None:
    """Print *rows* under *columns*, if there are any; a line is a row where nobody folds it.

    Texts come from anywhere, so nothing in them can move a cursor or look like markup.
    """
    if not rows:
        return
    texts = [["-" if cell is None else on_one_line(str(cell)) for cell in row] for row in rows]
    lines = (_folded if console.is_terminal else _unfolded)(console, columns, texts)
    # The last column is filled up to its width: nobody wants that in a file.
    console.file.write("\n".join([*(line.rstrip() for line in lines), ""]))


def _folded(
    console: Console, columns: Sequence[str], texts: Sequence[Sequence[str]]
) -> Sequence[str]:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_header=any(columns))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in texts:
        table.add_row(*map(Text, row))
    with console.capture() as capture:
        console.print(table)
    return capture.get().splitlines()


def _unfolded(_: Console, columns: Sequence[str], texts: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return a line for each row, however long."""
    rows = [columns, *texts] if any(columns) else texts
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [
        _GAP.join(
            text + " " * (width - cell_len(text)) for text, width in zip(row, widths, strict=True)
        )
        for row in rows
    ]
