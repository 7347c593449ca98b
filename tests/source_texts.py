"""Reads the texts of the interface out of the source: those that are translated, and those that are not."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOT_THE_WINDOW = ("cli.py", "window_entry.py", "commandline")

_SHOWN = """
setText setToolTip setWindowTitle setAccessibleName setAccessibleDescription setPlaceholderText setStatusTip
setWhatsThis setTitle setInformativeText setLabelText setHeaderLabels setHorizontalHeaderLabels setPrefix
setSuffix setDetailedText setSpecialValueText addAction addMenu addButton addItem addItems addTab addRow
insertItem tell set_readout set_title set_name name_button
set_ticks show_loading QLabel QPushButton QToolButton QAction QMessageBox QCheckBox
QGroupBox QRadioButton QDockWidget QInputDialog getSaveFileName getOpenFileName getExistingDirectory getText
getItem information warning question critical plain_label flat_button Segments Overlay PanelDock drawText edit
"""
SHOWN = frozenset(_SHOWN.split())
"""Calls whose text people read."""
KEY_FIRST = frozenset({"flat_button", "name_button", "set_ticks", "super"})
"""Of these, the first argument is a name of ours."""
NAMES = ("WorldAttention Playground", "English", "한국어", "MP4", "GIF", "PNG", "CSV", "JSONL", "CPU", "MB")
"""The same in every language."""
WRAPPED = frozenset({"tr", "translate", "QT_TRANSLATE_NOOP"})


@dataclass(frozen=True, slots=True)
class Bare:
    """A text that no translation reaches."""

    line: int
    text: str


def window_files() -> list[Path]:
    """The files of `app` that make the window."""
    files = sorted((ROOT / "app").rglob("*.py"))
    return [path for path in files if not set(path.relative_to(ROOT / "app").parts) & set(NOT_THE_WINDOW)]


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def bare_texts(source: str) -> list[Bare]:
    """Texts given to a widget as they are."""
    found: list[Bare] = []
    for node in ast.walk(ast.parse(source)):
        if (
            not isinstance(node, ast.Call)
            or called(node) not in SHOWN
            or ast.unparse(node.func).startswith("log.")
        ):
            continue
        first, rest = node.args[:1], [*node.args[1:], *(keyword.value for keyword in node.keywords)]
        if called(node) in KEY_FIRST:
            first, rest = [], [*first, *rest]
        for value in (*first, *rest):
            texts = (text for text in literals(value) if value in first or not is_key(text))
            found += [Bare(node.lineno, text) for text in texts if is_language(text)]
    return found


def literals(node: ast.expr) -> Iterator[str]:
    """String literals that reach the value of an expression; calls make their own values."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts)
        case ast.BinOp(left=left, right=right):
            yield from literals(left)
            yield from literals(right)
        case ast.IfExp(body=body, orelse=orelse):
            yield from literals(body)
            yield from literals(orelse)
        case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
            for value in values:
                yield from literals(value)
        case ast.Call(func=ast.Attribute(value=value, attr="format" | "join")):
            yield from literals(value)
        case _:
            return


def is_language(text: str) -> bool:
    """Whether a literal holds words of a language: not just a name, markup or the end of a file name."""
    words = re.sub(r"<[^>]*>|\{[^}]*\}|\.[a-z0-9]{2,5}\b|" + "|".join(NAMES), " ", text)
    return bool(re.search(r"[^\W\d_]{2}", words))


def is_key(text: str) -> bool:
    """Whether a literal names an icon, an action or a settings entry."""
    return re.fullmatch(r"[a-z0-9_]+", text) is not None


def marked_texts(path: Path) -> set[tuple[str, str]]:
    """(context, text) of every text that is marked for translation, as lupdate has to see it."""
    found: set[tuple[str, str]] = set()

    def visit(node: ast.AST, owner: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call) and called(child) in WRAPPED:
                texts = [
                    a.value for a in child.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
                ]
                if called(child) == "tr" and len(texts) == 1:
                    found.add((owner, texts[0]))
                elif called(child) != "tr" and len(texts) == 2:
                    found.add((texts[0], texts[1]))
            visit(child, child.name if isinstance(child, ast.ClassDef) else owner)

    visit(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


def templates(path: Path) -> set[str]:
    """Every text of a file, with `{}` for what an f-string puts in."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            found.update(literals(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found


TELLING = ("UserError", "lose_exactness", "_notices.append", "_notices.extend", "_say_once")
"""Calls with a sentence that people read."""


def refusals(path: Path) -> set[str]:
    """The sentences with which a file refuses or tells something, with `{}` for what varies.

    They stand in the call, in a constant of the file, or in what a function of the file returns.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants, functions = {}, {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            constants[node.targets[0].id] = node.value
        elif isinstance(node, ast.FunctionDef):
            functions[node.name] = [r.value for r in ast.walk(node) if isinstance(r, ast.Return) and r.value]

    def said(value: ast.expr) -> Iterator[str]:
        if isinstance(value, ast.Name) and value.id in constants:
            yield from literals(constants[value.id])
        elif isinstance(value, ast.Call) and called(value) in functions:
            for returned in functions[called(value)]:
                yield from literals(returned)
        else:
            yield from literals(value)

    return {
        text
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(TELLING)
        for argument in node.args[:1]
        for text in said(argument)
        if " " in text
    }
