"""Panels that show the same page: remembered moments, heat map, arcs and playhead, by mouse and by keyboard."""

import re
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTabBar

from tests.fakes_window import FakeEngine, Script, scripted
from worldattention.app import playback, theme
from worldattention.app.main_window import MainWindow
from worldattention.app.panels.dock import PanelDock
from worldattention.app.panels.pages import PagesPanel
from worldattention.app.panels.provenance import ProvenancePanel
from worldattention.app.panels.sparsity import SparsityPanel
from worldattention.app.panels.stages import STAGES, StagesPanel, stages_of
from worldattention.app.thumbnails import Thumbnails
from worldattention.app.window_run import Screenshot
from worldattention.core.config import EngineConfig
from worldattention.core.timeline import Event, make_timeline

STORY = make_timeline(
    [Event(1, 0, 4.5, "a red house"), Event(2, 4.5, 9, "a hill"), Event(3, 9, 90, "a red house again")]
)


@pytest.fixture(scope="module")
def records():
    engine = FakeEngine(Script(step_s=0.0), EngineConfig())
    prompts = ["a red house", "a blue sea", "a red hill", "a red house again"]
    return [engine.step(prompts[block // 10]).telemetry for block in range(40)]


@pytest.fixture
def window(qtbot, qapp, tmp_path, monkeypatch):
    monkeypatch.setattr(playback, "FRAME_MS", 10.0)
    theme.apply_theme(qapp, "dark")
    one = MainWindow(scripted(Script(step_s=0.02, load_s=0.01), STORY, tmp_path))
    one.show()
    qtbot.waitExposed(one)
    one.start()
    qtbot.waitUntil(lambda: one.world.blocks >= 10, timeout=90000)
    yield one
    one.close()


def span(page):
    return page.first_frame / 4, (page.first_frame + page.frames) / 4


def moments(records):
    panel = ProvenancePanel(lambda _frame: None, span)
    panel.show_blocks(records)
    return panel


def test_the_moments_are_those_of_the_recall_best_first(qtbot, records):
    panel = moments(records)
    qtbot.addWidget(panel)
    last = next(record for record in reversed(records) if record.recall is not None)
    scores = dict(zip(last.recall.candidates, last.recall.scores, strict=True))
    wanted = sorted(last.recall.chosen, key=lambda page: -scores[page])
    assert [page.page for page in panel.shown.pages] == wanted
    best = panel.list.item(0)
    assert f"score {scores[wanted[0]]:.2f}" in best.text()
    assert f"page {wanted[0]}" in best.data(Qt.ItemDataRole.AccessibleTextRole)
    assert last.prompt in panel.readout


def test_what_another_branch_recalled_is_forgotten(qtbot, records):
    panel = moments(records)
    qtbot.addWidget(panel)
    recalls = [record for record in records if record.recall is not None and record.recall.chosen]
    panel.show_blocks([recalls[0]])  # rewound to there, and made again
    assert panel.shown.block == recalls[0].block
    sparsity, stages = SparsityPanel(), StagesPanel()
    for each in (sparsity, stages):
        qtbot.addWidget(each)
        each.show_blocks(records)
        each.show_blocks([records[5]])
    assert [record.block for record in stages.blocks] == list(range(6))


@pytest.mark.parametrize("kind", [SparsityPanel, PagesPanel, StagesPanel])
def test_an_empty_panel_says_in_a_sentence_what_it_will_show(qtbot, records, kind):
    panel = kind()
    qtbot.addWidget(panel)
    assert panel.plot.hint.endswith(".")
    panel.show_blocks(records)
    assert panel.plot.hint == ""
    panel.clear()
    assert panel.plot.hint.endswith(".")
    assert panel.readout == ""


def test_stages_add_up_to_the_total_and_are_drawn_as_such(qtbot, records):
    panel = StagesPanel()
    qtbot.addWidget(panel)
    panel.show_blocks(records)
    for index, record in enumerate(panel.blocks):
        parts = stages_of(record.stage_ms)
        assert list(parts) == list(STAGES)
        named = sum(ms for name, ms in record.stage_ms.items() if name != "total")
        assert sum(parts.values()) == pytest.approx(max(record.stage_ms["total"], named))
        top = panel.plot.bars["other"].opts
        assert top["y0"][index] + top["height"][index] == pytest.approx(sum(parts.values()))
        assert panel.plot.bars["denoise"].opts["height"][index] == pytest.approx(record.stage_ms["denoise"])
    assert panel.plot._real_time.value() == 750.0  # 12 frames at 16 a second
    newest = records[-1]
    assert panel.readout.startswith(f"block {newest.block}: {newest.stage_ms['total']:.0f} ms of 750")


def test_blocks_are_read_by_keyboard(qtbot, records):
    panel = StagesPanel()
    qtbot.addWidget(panel)
    panel.show()
    panel.show_blocks(records)
    panel.plot.setFocus()
    for _ in range(3):
        QTest.keyClick(panel.plot, Qt.Key.Key_Left)
    assert panel.readout.startswith(f"block {records[-3].block}:")
    assert panel.plot.accessibleDescription() == panel.readout


def test_heads_are_read_by_keyboard_and_stay_read_when_a_block_comes(qtbot, records):
    panel = SparsityPanel()
    qtbot.addWidget(panel)
    panel.resize(420, 220)
    panel.show()
    panel.activateWindow()
    panel.show_blocks(records[:3])
    panel.plot.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(panel.plot, Qt.Key.Key_Home)
    QTest.keyClick(panel.plot, Qt.Key.Key_Right)
    QTest.keyClick(panel.plot, Qt.Key.Key_Up)
    gini = records[2].gini[1, 1]
    assert panel.readout.startswith(f"layer 1 head 1 · Gini {gini:.2f}")
    assert panel.plot.accessibleDescription() == panel.readout
    panel.show_blocks(records[3:4])
    assert panel.readout.startswith(f"layer 1 head 1 · Gini {records[3].gini[1, 1]:.2f}")


def test_the_history_shows_the_mean_of_every_layer_over_the_blocks(qtbot, records):
    panel = SparsityPanel()
    qtbot.addWidget(panel)
    panel.show_blocks(records)
    QTest.mouseClick(panel.history, Qt.MouseButton.LeftButton)
    wanted = np.stack([record.gini.mean(1) for record in records], axis=1)
    assert np.allclose(panel.plot.values, wanted, atol=1e-6)
    panel.choice.choose("Density")
    assert np.allclose(panel.plot.values[:, 7], records[7].density.mean(1), atol=1e-6)
    assert panel.plot.describe(2, 7).startswith("block 7 layer 2 · Gini")


def test_a_page_is_marked_in_every_view_that_shows_it(window, qtbot):
    one = window
    one.world.playback.pause()
    page = one.panels.provenance.shown.pages[0]
    one.panels.provenance.list.itemEntered.emit(one.panels.provenance.list.item(0))
    assert one.model.highlight == one.model.page_span(page)
    _, y = one.panels.pages.plot._marked.getData()
    assert (min(y), max(y)) == (page.page - 0.5, page.page + 0.5)
    one.panels.provenance.list.left.emit()
    assert one.model.highlight is None
    arc = one.model.arcs[-1]
    one.timeline.view.arc_pointed.emit(arc)
    marked = one.links.page_at(arc.start)
    _, y = one.panels.pages.plot._marked.getData()
    assert (min(y), max(y)) == (marked.page - 0.5, marked.page + 0.5)
    chosen = one.panels.provenance.list.selectedItems()
    assert [item.data(Qt.ItemDataRole.UserRole).page for item in chosen] == [marked.page]
    one.timeline.view.arc_pointed.emit(None)
    assert one.panels.provenance.list.selectedItems() == []


def test_a_moment_is_chosen_by_keyboard_and_the_playhead_marks_its_page(window, qtbot):
    one = window
    one.panels.provenance.raise_()
    moments = one.panels.provenance.list
    moments.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(moments, Qt.Key.Key_Home)
    QTest.keyClick(moments, Qt.Key.Key_Return)
    page = moments.item(0).data(Qt.ItemDataRole.UserRole)
    assert one.world.playback.position == round(16 * one.model.page_span(page)[0])
    assert one.world.playback.running  # the world goes on
    one.viewport.setFocus()
    _, y = one.panels.pages.plot._marked.getData()
    assert (min(y), max(y)) == (page.page - 0.5, page.page + 0.5)
    QTest.keyClick(one.viewport, Qt.Key.Key_End)
    assert len(one.panels.pages.plot._marked.getData()[0]) == 0


def test_every_frame_is_of_the_page_that_banked_it(window):
    one = window
    one.world.playback.pause()
    for page in one.panels.pages.history.pages:
        start, end = one.model.page_span(page)
        for seconds in (start, (start + end) / 2, end - 1 / 16):
            assert one.links.page_at(seconds) is page
    assert one.links.page_at(10_000.0) is None


def test_a_click_in_the_map_is_a_cursor_that_keys_take_on(window, qtbot):
    one = window
    one.world.playback.pause()
    plot = one.panels.pages.plot
    at = plot.mapFromScene(plot.view.mapViewToScene(QPointF(3.0, 0.0)))
    QTest.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert plot.cell == (0, 3)
    plot.setFocus()
    QTest.keyClick(plot, Qt.Key.Key_Up)
    QTest.keyClick(plot, Qt.Key.Key_Return)
    page = one.panels.pages.history.pages[1]
    assert one.world.playback.position == round(16 * one.model.page_span(page)[0])


def test_thumbnails_are_bounded_and_the_nearest_stands_for_a_thinned_one():
    kept = Thumbnails(most=40)
    draw = np.random.default_rng()
    for block in range(500):
        kept.add(12 * block, draw.integers(0, 256, (16, 32, 3), np.uint8))
    assert len(kept) <= 40
    assert kept.at(0) is not None
    assert kept.at(12 * 499 + 5) is not None
    assert all(kept.at(frame) is not None for frame in range(0, 6000, 97))
    kept.add(600, draw.integers(0, 256, (16, 32, 3), np.uint8))  # another future
    assert kept.at(5900) is kept.at(600)
    kept.clear()
    assert kept.at(0) is None


def test_the_layout_comes_back(window, qtbot):
    one = window
    one.panels.pages.setFloating(True)
    one.panels.memory.hide()
    qtbot.waitUntil(lambda: one.panels.pages.readout != "" and one.panels.pages.isFloating(), timeout=20000)
    one.actions_by_name["reset_layout"].trigger()
    assert not one.panels.pages.isFloating()
    assert one.panels.memory.isVisible()
    assert one.tabifiedDockWidgets(one.panels.pages) == [one.panels.provenance]


def test_case_7_old_records_give_their_pages_back(window, qtbot, monkeypatch):
    """CASES 7: a long sitting does not fill the memory with what no view shows any more."""
    one = window
    one.world.playback.pause()
    monkeypatch.setattr("worldattention.app.world.PAGED_BLOCKS", 5)
    newest = one.world.telemetry[-1]
    for block in range(newest.block + 1, newest.block + 20):
        one.world._tell_made([replace(newest, block=block, recall=None)])
    assert [bool(record.pages) for record in one.world.telemetry][-19:] == [False] * 14 + [True] * 5
    qtbot.waitUntil(lambda: not one.panels._fresh, timeout=20000)  # they draw one after the other
    assert all(not record.pages for record in one.panels.stages.blocks)
    assert one.panels.pages.history.pages == newest.pages


def test_no_tab_bar_stands_where_no_docks_are(make_window, qtbot):
    """Qt leaves one behind now and then, when docks come together one by one; here there always is one."""
    one = make_window(start=False)
    left = QTabBar(one)
    for panel in (one.panels.memory, one.panels.stages):
        left.addTab(panel.windowTitle())
    left.show()

    def sound():
        docks = [dock for dock in one.findChildren(PanelDock) if not dock.isFloating()]
        groups = {
            frozenset(d.windowTitle() for d in (dock, *one.tabifiedDockWidgets(dock))) for dock in docks
        }
        bars = one.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly)
        shown = [frozenset(bar.tabText(n) for n in range(bar.count())) for bar in bars if bar.isVisible()]
        return sorted(map(sorted, shown)) == sorted(sorted(group) for group in groups if len(group) > 1)

    qtbot.waitUntil(sound, timeout=20000)
    one.panels.stages.setFloating(True)
    qtbot.waitUntil(sound, timeout=20000)
    one.panels.stages.setFloating(False)
    one.tabifyDockWidget(one.panels.sparsity, one.panels.stages)
    qtbot.waitUntil(sound, timeout=20000)
    one.actions_by_name["reset_layout"].trigger()
    qtbot.waitUntil(sound, timeout=20000)


def test_every_panel_and_the_status_bar_name_the_block_of_their_numbers(make_window, qtbot):
    two = make_timeline([Event(1, 0, 4.5, "a red house"), Event(2, 4.5, 60, "a red hill")])
    one = make_window(timeline=two)
    qtbot.waitUntil(lambda: one.world.blocks >= 8, timeout=20000)
    one.world.playback.pause()
    panels = one.panels
    fed = (panels.sparsity, panels.pages, panels.memory, panels.stages)

    def told():
        newest = one.world.telemetry[-1].block
        return one.status.block.text() == f"newest block {newest}" and all(
            re.match(rf"block {newest}\b", panel.readout) for panel in fed
        )

    qtbot.waitUntil(told, timeout=20000)
    assert panels.provenance.readout.startswith("recalled at block 6 · ")


def test_a_screenshot_waits_until_all_panels_show_one_block(make_window, qtbot, tmp_path, monkeypatch):
    one = make_window()
    qtbot.waitUntil(lambda: one.world.blocks >= 3, timeout=20000)
    one.world.playback.pause()
    shot = Screenshot(one, tmp_path / "window.png", 1000)
    grab, seen = one.grab, []
    monkeypatch.setattr(one, "grab", lambda: (seen.append(one.panels.settled), grab())[1])
    one.panels.show_blocks(list(one.world.telemetry))
    assert not one.panels.settled
    shot._save()
    qtbot.waitUntil(lambda: shot.saved, timeout=20000)
    assert seen == [True]


def test_the_key_of_the_stages_has_room_for_the_line_of_real_time(qtbot, qapp, records):
    theme.apply_theme(qapp, "dark")
    panel = StagesPanel()
    qtbot.addWidget(panel)
    panel.resize(400, 190)
    panel.show()
    panel.show_blocks(records[:3])
    image = panel.key.grab().toImage()
    row = [image.pixelColor(x, 8).name() for x in range(image.width())]
    last = max(x for x, ink in enumerate(row) if ink == theme.colours().dropped.lower())
    assert theme.TEXT.lower() in row[last + 5 :]
    assert "16 FPS" in panel.key.accessibleName()
