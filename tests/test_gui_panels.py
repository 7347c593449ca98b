"""Panels by their numbers: what is drawn is what the telemetry says, however long the world."""

import csv
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPointF

from tests.fakes_window import FakeEngine, Script
from worldattention.app import theme
from worldattention.app.memory_strip import MemoryButton
from worldattention.app.panels.heat import rgba
from worldattention.app.panels.history import COLUMNS, MAX_ROWS, PageHistory, Run
from worldattention.app.panels.memory import MemoryPanel
from worldattention.app.panels.pages import PagesPanel
from worldattention.app.panels.plot import steps
from worldattention.app.panels.provenance import ProvenancePanel
from worldattention.app.panels.sparsity import SparsityPanel
from worldattention.app.recalls import arcs_of, memories_of
from worldattention.app.telemetry_file import save_telemetry
from worldattention.app.texts import fit_text
from worldattention.app.timeline.arcs import span_words
from worldattention.app.timeline.model import TimelineModel
from worldattention.core.config import EngineConfig
from worldattention.core.errors import UserError
from worldattention.core.telemetry import PageRecord, RecallRecord
from worldattention.core.telemetry_lines import records_of


@pytest.fixture(scope="module")
def records():
    engine = FakeEngine(Script(step_s=0.0), EngineConfig())
    prompts = ["a red house", "a blue sea", "a red hill", "a red house again"]
    return [engine.step(prompts[block // 14]).telemetry for block in range(56)]


def test_every_head_has_its_own_cell(qtbot, records):
    panel = SparsityPanel()
    qtbot.addWidget(panel)
    panel.show_blocks([records[0]])
    for name, values in (("Gini", "gini"), ("Threshold τ", "threshold"), ("Density", "density")):
        panel.choice.choose(name)
        assert np.array_equal(panel.plot.values, getattr(records[0], values).T)
    gini, tau = records[0].gini[3, 2], records[0].threshold[3, 2]
    panel._hovered(panel.plot.describe(2, 3))
    assert f"layer 3 head 2 · Gini {gini:.2f} · τ {tau:.2f}" in panel.readout
    panel._hovered("")
    assert panel.readout.startswith("block 0 · ")
    assert f"Gini {records[0].gini.mean():.2f}" in panel.readout


def test_hovering_reads_the_cell_under_the_mouse(qtbot, records):
    panel = SparsityPanel()
    qtbot.addWidget(panel)
    panel.resize(400, 200)
    panel.show()
    qtbot.waitExposed(panel)
    panel.show_blocks([records[0]])
    qtbot.wait(50)
    heard = []
    panel.plot.hovered.connect(heard.append)
    inside = panel.plot.view.mapViewToScene(QPointF(5.2, 4.3))
    panel.plot._mouse_moved(inside)
    assert heard[-1].startswith("layer 5 head 4 ")
    panel.plot._mouse_moved(QPointF(-50, -50))
    assert heard[-1] == ""


def test_pages_carry_the_last_recalls_scores_and_mark_the_window(qtbot, records):
    panel = PagesPanel()
    qtbot.addWidget(panel)
    panel.show_blocks(records)
    recalls = [record for record in records if record.recall is not None]
    assert len(recalls) == 3
    values = panel.plot.values
    assert values.shape == (len(records[-1].pages), len(records))
    for record in recalls:
        for page, score in zip(record.recall.candidates, record.recall.scores, strict=True):
            assert values[page, record.block] == pytest.approx(score)
            assert values[page, record.block + 5] == pytest.approx(score)  # still in force
    assert np.isnan(values[:, : recalls[0].block]).all()
    banked = panel.history.banked()
    assert [int(column.sum()) for column in banked.T] == [len(record.pages) for record in records]
    framed = {(run.page, column) for run in panel.history.runs() for column in range(run.first, run.last + 1)}
    wanted = {(page.page, record.block) for record in records for page in record.pages if page.recalled}
    assert framed == wanted
    panel.choice.choose("Similarity")
    last = recalls[-1]
    page = last.recall.candidates[0]
    assert panel.plot.values[page, -1] == pytest.approx(last.pages[page].similarity)


def test_the_strip_tells_each_pages_tier(qtbot, records):
    panel = PagesPanel()
    qtbot.addWidget(panel)
    panel.resize(400, 360)
    panel.show()
    qtbot.waitExposed(panel)
    panel.show_blocks(records[:20])
    shown = [letter.toPlainText() for letter in panel._letters if letter.isVisible()]
    assert shown == [theme.TIER_LEVELS[page.tier] for page in records[19].pages]
    panel.resize(400, 150)
    panel.show_blocks(records[20:])  # too many for letters now: the colours and the key tell
    assert not any(letter.isVisible() for letter in panel._letters)
    tiers = {page.tier for page in records[-1].pages}
    assert len(tiers) > 1
    assert all(theme.tier_name(tier) in panel.scale.accessibleName() for tier in tiers)
    assert "L" in panel._describe(0, 5)


def long_history(pages, blocks):
    draw = np.random.default_rng()
    history, scores = PageHistory(), draw.random(pages)
    records = [
        PageRecord(number, 0, 8 * number, 8, "disk", 0.5, float(score), number % 1000 == 7)
        for number, score in enumerate(scores)
    ]
    recall = RecallRecord(0, "hkv", "x", (0.5,), (), (), ())
    stub = type("Record", (), {"pages": tuple(records), "recall": recall, "block": 0})
    for block in range(blocks):
        history.add(type("Block", (stub,), {"block": block}))
    return history, records


def test_many_pages_share_rows_and_the_best_of_them_is_seen():
    history, records = long_history(10_000, 20)
    values = history.matrix("score")
    assert values.shape == (250, 20)
    assert values.shape[0] <= MAX_ROWS
    scores = np.array([record.score for record in records], np.float32)
    assert np.array_equal(values[:, 3], scores.reshape(-1, 40).max(1))


def test_case_32_10_000_pages_draw_in_a_frames_time(qtbot):
    """CASES 32: drawn and painted in 16 ms; asserted at twice that, and in processor time, beside busy neighbours."""
    panel = PagesPanel()
    qtbot.addWidget(panel)
    panel.resize(400, 240)
    panel.show()
    panel.history, _ = long_history(10_000, COLUMNS)
    spent = []
    for _ in range(7):
        begin = time.process_time()
        panel._draw()
        panel.grab()
        spent.append(time.process_time() - begin)
    assert min(spent) < 0.032


def test_only_the_newest_columns_are_kept():
    history, _ = long_history(3, COLUMNS + 30)
    assert (history.blocks, history.first_block) == (COLUMNS, 30)
    history = PageHistory()
    assert history.runs() == []


def test_runs_end_and_begin_again():
    history = PageHistory()
    for block, recalled in enumerate([False, True, True, False, True]):
        page = PageRecord(0, 0, 0, 8, "dram", None, None, recalled)
        history.add(type("Block", (), {"pages": (page,), "recall": None, "block": block}))
    assert history.runs() == [Run(0, 1, 2), Run(0, 4, 4)]


def test_memory_shows_every_tier_against_its_quota(qtbot, records):
    panel = MemoryPanel()
    qtbot.addWidget(panel)
    panel.resize(400, 220)
    panel.show()
    panel.show_blocks(records)
    for tier in records[-1].tiers:
        words = panel.bars.row_text(tier)
        assert f"{tier.pages} page" in words
        assert words in panel.bars.accessibleDescription()
    used = [tier.used_bytes for tier in records[-1].tiers]
    tops = [panel._curves[name].getData()[1][-1] for name in ("device", "dram", "disk")]
    assert np.allclose(tops, np.cumsum(used) / 1e6)  # stacked
    empty = panel.bars.grab().toImage()
    panel.clear()
    assert panel.bars.grab().toImage() != empty


def test_unknown_values_are_drawn_as_ground_and_the_scale_is_fixed():
    values = np.array([[np.nan, 0.0, 0.5, 1.0, 7.0]], np.float32)
    pixels = rgba(values, 0.0, 1.0)
    table = theme.viridis()
    assert [tuple(pixel[:3]) for pixel in pixels[0][1:]] == [
        tuple(table[0]), tuple(table[127]), tuple(table[255]), tuple(table[255])
    ]  # fmt: skip
    assert tuple(pixels[0][0][:3]) not in {tuple(colour) for colour in table}
    there = rgba(values, 0.0, 1.0, np.ones_like(values, bool))
    assert tuple(there[0][0]) != tuple(pixels[0][0])
    assert np.array_equal(there[0][1:], pixels[0][1:])
    lightness = table.astype(float) @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness) > -0.5).all()  # viridis rises in lightness: it reads without colour


def test_ticks_are_round_and_few():
    assert steps(0, 7, 10) == list(range(8))
    assert steps(0, 75, 8) == [0, 10, 20, 30, 40, 50, 60, 70]
    assert steps(31, 190, 8) == list(range(40, 190, 20))
    assert len(steps(0, 9_999, 5)) <= 5


def test_modes_without_routing_show_dashes_not_warnings(qtbot, records):
    panel = SparsityPanel()
    qtbot.addWidget(panel)
    nothing = np.full((8, 6), np.nan, np.float32)
    panel.show_blocks([replace(records[0], threshold=nothing, density=nothing)])
    assert panel.readout.endswith("τ – · density –")
    panel.choice.choose("Density")
    assert np.isnan(panel.plot.values).all()


def test_telemetry_is_saved_whole_or_as_a_table(tmp_path, records):
    assert "Saved 56 blocks" in save_telemetry(tmp_path / "한글.jsonl", records)
    lines = (tmp_path / "한글.jsonl").read_text().splitlines()
    again = list(records_of(lines))
    assert [one.to_json() for one in again] == [one.to_json() for one in records]
    assert [record.block for record in again] == list(range(56))
    assert again[30].recall == records[30].recall
    assert np.allclose(again[7].gini, records[7].gini, atol=1e-5)
    save_telemetry(
        tmp_path / "t.csv", [replace(records[0], prompt='a "quoted", comma\nand line'), *records[1:]]
    )
    with open(tmp_path / "t.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 56
    assert rows[0]["prompt"] == 'a "quoted", comma\nand line'
    assert float(rows[20]["gini"]) == pytest.approx(records[20].gini.mean(), abs=1e-4)
    assert rows[-1]["recalled_pages"].split() == [str(p.page) for p in records[-1].pages if p.recalled]
    with pytest.raises(UserError):
        save_telemetry(tmp_path / "no" / "t.csv", records)


def test_the_memory_panel_tells_every_tier_in_full(qtbot, records):
    panel = MemoryPanel()
    qtbot.addWidget(panel)
    disk = replace(
        records[-1].tiers[-1],
        written_bytes=3_500_000, drops=7, thinned=4, prefetched=9, prefetch_hits=5, late=2, read_ms=(3.25, 18.04),
    )  # fmt: skip
    record = replace(records[-1], tiers=(*records[-1].tiers[:-1], disk))
    panel.bars.show_shared(0, 0)
    panel.show_blocks([record])
    assert "3.5 MB written to disk this session" in panel.readout
    assert "7 dropped" in panel.readout
    told = panel.bars.accessibleDescription()
    for words in (
        "none: a CPU",
        "7 dropped (4 of them thinned)",
        "9 prefetched, 5 of them used; 2 too late",
        "read: 3.2",
    ):
        assert words in told
    panel.bars.show_shared(233_472, 132)
    assert "233 kB × 132 multiprocessors" in panel.bars.shared


def test_quotas_are_lines_once_they_are_near(qtbot, records):
    panel = MemoryPanel()
    qtbot.addWidget(panel)
    panel.show()
    far = replace(records[0], tiers=tuple(replace(tier, quota_bytes=1 << 40) for tier in records[0].tiers))
    panel.show_blocks([far])
    assert not any(line.isVisible() for line in panel.quotas)
    panel.show_blocks(records)
    lines = [line.value() for line in panel.quotas if line.isVisible()]
    limits = np.cumsum([tier.quota_bytes / 1e6 for tier in records[-1].tiers])
    assert lines == pytest.approx([limit for limit in limits if limit in lines or limit < 2 * lines[0]])
    assert lines[0] == pytest.approx(limits[0])


@pytest.mark.parametrize("height", [250, 300, 420, 800])
def test_the_memory_panels_labels_never_touch(qtbot, records, height):
    panel = MemoryPanel()
    qtbot.addWidget(panel)
    panel.resize(400, height)
    panel.show()
    tiers = tuple(replace(tier, used_bytes=130_000_000, quota_bytes=268_000_000) for tier in records[0].tiers)
    panel.show_blocks([replace(records[0], tiers=tiers)])
    qtbot.wait(1)
    ticks = panel.plot.getAxis("left")._tickLevels[0]
    view = panel.plot.view
    apart = np.diff([at for at, _ in ticks]) * view.height() / view.viewRect().height()
    assert len(ticks) >= 2
    assert apart.min() >= 14


def test_the_numbers_share_a_line_with_the_key(qtbot, qapp, records):
    theme.apply_theme(qapp, "dark")
    panel = SparsityPanel()
    qtbot.addWidget(panel)
    panel.resize(400, 140)
    panel.show()
    panel.show_blocks([records[0]])
    qtbot.wait(1)
    key, numbers = panel.scale, panel._readout
    assert key.geometry().top() <= numbers.geometry().center().y() <= key.geometry().bottom()
    assert key.geometry().right() < numbers.geometry().left()
    for mode in (False, True):
        panel.history.setChecked(mode)
        words = panel.plot.describe(3, 0)
        assert numbers.fontMetrics().horizontalAdvance(words) <= numbers.width()


def test_the_strip_of_tiers_stands_clear_of_the_axis_and_is_named(qtbot, records):
    panel = PagesPanel()
    qtbot.addWidget(panel)
    panel.resize(400, 200)
    panel.show()
    panel.show_blocks(records)
    strip = panel._strip.mapRectToView(panel._strip.boundingRect())
    assert panel.plot.view.viewRect().left() < strip.left() - strip.width() / 4
    assert strip.right() + strip.width() / 2 < panel.plot.area.left()
    [at] = [at for at, text in panel.plot.getAxis("bottom")._tickLevels[0] if text == "tier"]
    assert at == pytest.approx(strip.center().x())


def test_the_key_of_the_pages_says_what_grey_is_and_has_room_for_every_tier(qtbot, qapp, records):
    theme.apply_theme(qapp, "dark")
    panel = PagesPanel()
    qtbot.addWidget(panel)
    panel.resize(400, 200)
    panel.show()
    panel.show_blocks(records)
    assert {page.tier for page in records[-1].pages} == {"device", "dram", "disk"}
    assert "not scored" in panel.scale.text
    image = panel.scale.grab().toImage()
    inks = {image.pixelColor(x, 8).name() for x in range(image.width())}
    assert inks >= {theme.tier_colour(tier).lower() for tier in ("device", "dram", "disk")}
    assert theme.HOVER in inks


def test_the_blocks_axis_always_names_its_unit(qtbot, records):
    panel = PagesPanel()
    qtbot.addWidget(panel)
    for count in (1, 20, len(records)):
        panel.show_blocks(records[:count])
        ticks = panel.plot.getAxis("bottom")._tickLevels[0]
        assert ticks[1][1].startswith("block ")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (float("nan"), "–"), (-0.31, "–"), (-0.004, "0.00"), (0.0, "0.00"), (0.816, "0.82"), (3.0, "3.00")],
)  # fmt: skip
def test_a_match_below_zero_is_a_dash(value, shown):
    assert fit_text(value) == shown


def test_no_view_shows_a_negative_score(qtbot, records):
    """Unrelated pages score below zero: the order is kept, the number is not."""
    [record] = [record for record in records if record.recall is not None][-1:]
    scores = {page.page: -0.4 + 0.01 * page.page for page in record.pages}
    pages = tuple(replace(page, score=scores[page.page], similarity=-0.2) for page in record.pages)
    told = tuple(scores[number] for number in record.recall.candidates)
    record = replace(record, pages=pages, recall=replace(record.recall, scores=told))
    heat, moments = (
        PagesPanel(),
        ProvenancePanel(lambda _frame: None, lambda page: (page.page, page.page + 1)),
    )
    for panel in (heat, moments):
        qtbot.addWidget(panel)
        panel.show_blocks([record])
    items = [moments.list.item(row) for row in range(moments.list.count())]
    model = TimelineModel()
    strip = MemoryButton(memories_of(record, model)[0], heat)
    said = [
        heat.scale.text,
        heat._describe(0, 0),
        strip.accessibleName(),
        *(span_words(arc) for arc in arcs_of(record, model)),
        *(item.text() for item in items),
        *(item.toolTip() for item in items),
    ]
    assert not [text for text in said if re.search(r"[-−]\d", text)]
    assert all("–" in text for text in said)


def test_where_there_is_little_room_the_bars_stand_alone(qtbot, records):
    panel = MemoryPanel()
    qtbot.addWidget(panel)
    panel.resize(400, 130)
    panel.show()
    qtbot.waitUntil(lambda: panel.plot.isVisible() and not panel.bars.isVisible(), timeout=20000)
    assert panel.plot.hint  # nothing to see yet, and it says so
    for height, curves in ((130, False), (240, True), (130, False)):
        panel.show_blocks(records[:9])
        panel.resize(400, height)
        qtbot.waitUntil(lambda curves=curves: panel.plot.isVisible() == curves, timeout=20000)
        assert panel.bars.isVisible()
    panel.clear()
    assert not panel.plot.isHidden()
    assert panel.plot.hint
