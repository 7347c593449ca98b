"""Icons drawn as paths: sharp at every pixel ratio, coloured by the theme; and the program's own mark."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QIcon, QIconEngine, QPainter, QPainterPath, QPen, QPixmap, QPolygonF
from PySide6.QtSvg import QSvgRenderer

from worldattention.app import theme

APP_ID = "io.github.worldattention.Playground"
"""Name of the desktop entry and of its icon."""

ON_PRIMARY = "on_accent"
"""Colour of icons on the accent's ground."""

Draw = Callable[[QPainter], None]
"""Draws on a square of 24 x 24 units with the pen and brush it is given."""


def icon(name: str, colour: str = "text") -> QIcon:
    """The icon of that name in a colour of the theme, by its name. Raises KeyError for an unknown icon."""
    return QIcon(_PathEngine(_DRAWINGS[name], colour))


def app_icon() -> QIcon:
    """The program's own mark: a world, the pages of its past, and the arc by which it remembers them."""
    drawing = resources.files("worldattention.assets") / "icons" / f"{APP_ID}.svg"
    return QIcon(_SvgEngine(drawing.read_bytes()))


class _SvgEngine(QIconEngine):
    """Qt finds its own engine for SVG through a plug-in, which a bundle may lack."""

    def __init__(self, drawing: bytes) -> None:
        super().__init__()
        self._drawing = drawing
        self._renderer = QSvgRenderer(drawing)

    def clone(self) -> QIconEngine:
        return _SvgEngine(self._drawing)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return _painted(self, size, mode, state)

    def paint(self, painter: QPainter, rect: QRect, _mode: QIcon.Mode, _state: QIcon.State) -> None:
        side = min(rect.width(), rect.height())
        left, top = rect.x() + (rect.width() - side) / 2, rect.y() + (rect.height() - side) / 2
        self._renderer.render(painter, QRectF(left, top, side, side))


def _painted(engine: QIconEngine, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
    pixmap = QPixmap(size)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    engine.paint(painter, QRect(QPoint(0, 0), size), mode, state)
    painter.end()
    return pixmap


class _PathEngine(QIconEngine):
    def __init__(self, draw: Draw, colour: str) -> None:
        super().__init__()
        self._draw = draw
        self._colour = colour

    def clone(self) -> QIconEngine:
        return _PathEngine(self._draw, self._colour)

    def key(self) -> str:
        return "worldattention"

    def read(self, _stream: object) -> bool:
        return False

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return _painted(self, size, mode, state)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, _state: QIcon.State) -> None:
        side = min(rect.width(), rect.height())
        colours = theme.colours()
        colour = QColor(colours.disabled if mode == QIcon.Mode.Disabled else getattr(colours, self._colour))
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(rect.x() + (rect.width() - side) / 2, rect.y() + (rect.height() - side) / 2)
        painter.scale(side / 24, side / 24)
        painter.setPen(
            QPen(colour, 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)
        )
        painter.setBrush(Qt.BrushStyle.NoBrush)
        self._draw(painter)
        painter.restore()


def _filled(painter: QPainter) -> None:
    painter.setBrush(painter.pen().color())


def _polygon(painter: QPainter, *points: tuple[float, float]) -> None:
    painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in points]))


def _lines(painter: QPainter, *points: tuple[float, float]) -> None:
    painter.drawPolyline(QPolygonF([QPointF(x, y) for x, y in points]))


def _play(painter: QPainter) -> None:
    _filled(painter)
    _polygon(painter, (8, 5.5), (8, 18.5), (18.5, 12))


def _pause(painter: QPainter) -> None:
    _filled(painter)
    painter.drawRoundedRect(QRectF(7, 6, 3, 12), 0.8, 0.8)
    painter.drawRoundedRect(QRectF(14, 6, 3, 12), 0.8, 0.8)


def _restart(painter: QPainter) -> None:
    painter.drawArc(QRectF(5.5, 5.5, 13, 13), 140 * 16, -310 * 16)
    _lines(painter, (5.2, 4.6), (6.2, 8.9), (10.4, 8.0))


def _branch(painter: QPainter) -> None:
    _lines(painter, (7, 8), (7, 16))
    _lines(painter, (7, 14), (17, 11.5), (17, 8))
    for x, y in ((7, 5.8), (7, 18.2), (17, 5.8)):
        painter.drawEllipse(QPointF(x, y), 2.2, 2.2)


def _record(painter: QPainter) -> None:
    painter.drawEllipse(QPointF(12, 12), 7, 7)
    painter.setPen(QPen(QColor(theme.DANGER)))
    painter.setBrush(QColor(theme.DANGER))
    painter.drawEllipse(QPointF(12, 12), 3.6, 3.6)


def _new(painter: QPainter) -> None:
    _lines(painter, (13, 4), (6, 4), (6, 20), (18, 20), (18, 9), (13, 4), (13, 9), (18, 9))


def _open(painter: QPainter) -> None:
    _lines(painter, (4, 18.5), (4, 6), (9.5, 6), (11.5, 8.5), (18.5, 8.5), (18.5, 11))
    _lines(painter, (4, 18.5), (6.6, 11), (21, 11), (18.4, 18.5), (4, 18.5))


def _save(painter: QPainter) -> None:
    _lines(painter, (12, 4), (12, 14.5))
    _lines(painter, (7.5, 10.5), (12, 15), (16.5, 10.5))
    _lines(painter, (4.5, 16), (4.5, 19.5), (19.5, 19.5), (19.5, 16))


def _export(painter: QPainter) -> None:
    painter.drawRoundedRect(QRectF(3.5, 5.5, 17, 13), 2, 2)
    for x in (7.5, 16.5):
        _lines(painter, (x, 5.5), (x, 18.5))
    _filled(painter)
    _polygon(painter, (10.6, 9.6), (10.6, 14.4), (14.4, 12))


def _add(painter: QPainter) -> None:
    _lines(painter, (12, 5.5), (12, 18.5))
    _lines(painter, (5.5, 12), (18.5, 12))


def _delete(painter: QPainter) -> None:
    _lines(painter, (5, 7), (19, 7))
    _lines(painter, (9.5, 7), (10, 4.5), (14, 4.5), (14.5, 7))
    _lines(painter, (6.8, 7), (7.8, 19.5), (16.2, 19.5), (17.2, 7))


def _undo(painter: QPainter) -> None:
    _lines(painter, (8.5, 5), (4.5, 9), (8.5, 13))
    path = QPainterPath(QPointF(4.8, 9))
    path.lineTo(14, 9)
    path.cubicTo(21, 9, 21, 18.5, 14, 18.5)
    path.lineTo(9.5, 18.5)
    painter.drawPath(path)


def _redo(painter: QPainter) -> None:
    painter.translate(24, 0)
    painter.scale(-1, 1)
    _undo(painter)


def _split(painter: QPainter) -> None:
    painter.drawRoundedRect(QRectF(3.5, 8, 6, 8), 1.2, 1.2)
    painter.drawRoundedRect(QRectF(14.5, 8, 6, 8), 1.2, 1.2)
    _lines(painter, (12, 4.5), (12, 19.5))


def _fit(painter: QPainter) -> None:
    _lines(painter, (4, 6), (4, 18))
    _lines(painter, (20, 6), (20, 18))
    _lines(painter, (7, 12), (17, 12))
    _lines(painter, (9.5, 9.5), (7, 12), (9.5, 14.5))
    _lines(painter, (14.5, 9.5), (17, 12), (14.5, 14.5))


def _send(painter: QPainter) -> None:
    _lines(painter, (18, 6), (18, 12.5), (6, 12.5))
    _lines(painter, (9.5, 9), (6, 12.5), (9.5, 16))


def _close(painter: QPainter) -> None:
    _lines(painter, (7, 7), (17, 17))
    _lines(painter, (17, 7), (7, 17))


def _float(painter: QPainter) -> None:
    painter.drawRoundedRect(QRectF(5, 9, 10, 10), 1.5, 1.5)
    _lines(painter, (10, 5), (19, 5), (19, 14))


def _lock(painter: QPainter) -> None:
    painter.drawRoundedRect(QRectF(6.5, 11, 11, 8.5), 1.8, 1.8)
    painter.drawArc(QRectF(8.6, 5, 6.8, 11), 0, 180 * 16)


def _dice(painter: QPainter) -> None:
    painter.drawRoundedRect(QRectF(5, 5, 14, 14), 3, 3)
    _filled(painter)
    for x, y in ((9, 9), (15, 9), (12, 12), (9, 15), (15, 15)):
        painter.drawEllipse(QPointF(x, y), 0.5, 0.5)


def _more(painter: QPainter) -> None:
    for x in (3, 12):
        _lines(painter, (x, 3), (x + 8, 12), (x, 21))


def _history(painter: QPainter) -> None:
    _lines(painter, (4, 4), (4, 20), (20, 20))
    _lines(painter, (7, 15), (11, 10), (14, 13), (19, 6))


_DRAWINGS: dict[str, Draw] = {
    "play": _play,
    "pause": _pause,
    "branch": _branch,
    "restart": _restart,
    "record": _record,
    "new": _new,
    "open": _open,
    "save": _save,
    "export": _export,
    "add": _add,
    "delete": _delete,
    "undo": _undo,
    "redo": _redo,
    "split": _split,
    "fit": _fit,
    "send": _send,
    "close": _close,
    "float": _float,
    "lock": _lock,
    "dice": _dice,
    "history": _history,
    "more": _more,
}
