"""One assessment as a part of the page: the verdict in words, then places for the pictures, tables, the method."""

from __future__ import annotations

from html import escape
from operator import itemgetter as item

from brolly.core.text import at_most
from brolly.report.html_tables import Column, Dict, columns_of, count, folded, interval, items, number, percent, table

MAX_SEGMENTS = 500  # on one page: more would not be read, and would make it heavy
DRAWN_SEGMENTS = 40  # in the picture, as page.js has it
GRADES = {  # what a colour says must be said in words as well
    "trust": ("✓", "Safe to act on as advised"),
    "care": ("!", "Use with care"),
    "distrust": ("✗", "Do not act on it as it is"),
    "unknown": ("?", "Not known yet"),
}
REFERENCES = (
    "Bairaktari, Hu, Nguyen, Ullman (2026), Testable and Actionable Calibration for Full Swap Regret, arXiv:2605.17749 "
    "(SCDL, the guarantee for rounded forecasts).",
    "Hu, Wu (2024), Predict to Minimize Swap Regret for All Payoff-Bounded Tasks, arXiv:2404.13503 (CDL).",
    "Benjamini, Hochberg (1995), Controlling the false discovery rate, doi:10.1111/j.2517-6161.1995.tb02031.x "
    "(segments).",
)


def fields(a: Dict, index: int, *, alone: bool) -> dict[str, str]:
    """What goes into the places of article.html."""
    verdict = a["verdict"]
    icon, badge = GRADES[verdict["grade"]]
    name = a.get("name") or "The forecast"
    return {
        "index": str(index),
        "name": escape(name),
        "heading": "" if alone else f'<h2 class="model">{escape(name)}</h2>',
        "grade": escape(verdict["grade"]),
        "icon": icon,
        "badge": escape(badge),
        "headline": escape(verdict["headline"]),
        "sentences": "".join(
            f'<li class="{escape(s["about"])}">{escape(s["text"])}</li>' for s in verdict["sentences"]
        ),
        "rows": escape(_rows(a)),
        "tiles": _tiles(a),
        "warnings": "".join(f'<p class="note">{escape(_sentence(text))}</p>' for text in _unsaid(a)),
        "advice": escape(_first_advice(a)),
        "confidence_level": percent(a["confidence_level"]),
        "grid": str(a["regret"]["grid"]),
        "crossing": "" if a["profile"]["m_star"] is None else f", at m* = {a['profile']['m_star']}",
        "advice_table": _advice_table(a),
        "reliability_table": _reliability_table(a),
        "balance_table": _balance_table(a),
        "measures_table": _measures_table(a),
        "segments": "" if a.get("segments") is None else _segments(a, index),
        "method": _method(a),
    }


def _unsaid(a: Dict) -> list[str]:
    """The warnings that the verdict has not said already."""
    return [text for text in a["warnings"] if not any(text in s["text"] for s in a["verdict"]["sentences"])]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def _rows(a: Dict) -> str:
    rows = "1 row" if a["n"] == 1 else f"{count(a['n'])} rows"
    weighted = f", weighted (effectively {count(a['effective_n'])})" if a["weighted"] else ""
    return f"{rows}{weighted}; the event happened in {percent(a['event_rate'])}."


def _tile(term: str, value: str, more: str) -> str:
    return (
        f'<div><dt>{escape(term)}</dt><dd class="value">{escape(value)}</dd><dd class="more">{escape(more)}</dd></div>'
    )


def _scdl_interval(scdl: Dict, confidence_level: float) -> str:
    """The interval, with the reason when it leaves out the value that it stands under."""
    words = interval(scdl["low"], scdl["high"], confidence_level) or "no interval"
    outside = scdl["high"] is not None and scdl["value"] > scdl["high"]
    return f"{words} on new rows like these: part of the value is chance" if outside else words


def _tiles(a: Dict) -> str:
    scdl, worst = a["profile"], a["regret"]
    guarantee, test, task = a.get("guarantee"), a.get("test"), a.get("task")
    tiles = [
        _tile(
            "SCDL (0 is perfect, 0.5 the worst)",
            number(scdl["value"]) if scdl["resolved"] else f"at most {number(scdl['value'])}",
            _scdl_interval(scdl, a["confidence_level"]),
        ),
        _tile(
            "Lost at worst on these rows",
            at_most(worst["loss"]),
            f"of what is at stake, by whoever acts on the forecast rounded to 1/{worst['grid']}",
        ),
    ]
    if guarantee is not None:
        level = percent(guarantee["confidence_level"])
        more = f"of what is at stake, with {level} confidence, rounded to 1/{guarantee['grid']}"
        tiles.append(_tile("Lost at most on new rows like these", at_most(guarantee["bound"]), more))
    if test is not None:
        more = "how often a perfectly calibrated forecast of this size looks as bad"
        tiles.append(_tile("p-value of perfect calibration", number(test["p_value"]), more))
    if task is not None:
        more = (
            f"of what is at stake ({number(task['in_units'])} per row in your units) by acting on the forecast as it is"
        )
        tiles.append(_tile("Lost in your own decision", at_most(task["value"]), more))
    return "".join(tiles)


def _first_advice(a: Dict) -> str:
    """What stands there before the slider is moved, or where it cannot be."""
    thresholds = a["advice"]["thresholds"]
    own = a["task"]["thresholds"] if a.get("task") else []
    wanted = own[0] if len(own) == 1 else 0.5
    nearest: Dict = min(thresholds, key=lambda t: abs(t["threshold"] - wanted))
    return f"If you act from {number(nearest['threshold'])} on: {nearest['text']}"


def _advice_table(a: Dict) -> str:
    columns = [
        Column("Act from", item("threshold"), number),
        Column("False alarm / miss", item("cost_ratio"), number),
        Column("Lost per row", item("regret"), number),
        Column("Of the stakes", item("share_of_stakes"), percent),
        Column("By chance up to", item("null_high"), number),
        Column("Advice", item("text")),
    ]
    inside = table("What to do at each threshold", "advice", columns, a["advice"]["thresholds"])
    return folded("The advice for every threshold, as a table", inside)


def _reliability_table(a: Dict) -> str:
    keys = ("prediction", "rows", "event_rate", "low", "high", "null_low", "null_high")
    columns = [
        Column("Said", item("prediction"), number),
        Column("Rows", item("rows"), count),
        Column("Happened", item("event_rate"), number),
        Column("Low", item("low"), number),
        Column("High", item("high"), number),
        Column("By chance from", item("null_low"), number),
        Column("to", item("null_high"), number),
    ]
    rows = columns_of(a["reliability"], *keys)
    return folded("These points as a table", table("How often it happened", "reliability", columns, rows))


def _balance_table(a: Dict) -> str:
    columns = [
        Column("Steps m", item("grids"), count),
        Column("SCDL on 1/m", item("losses"), number),
        Column("1/m", item("reciprocals"), number),
    ]
    rows = columns_of(a["profile"], "grids", "losses", "reciprocals")
    return folded("These points as a table", table("SCDL on each grid", "profile", columns, rows))


def _measures_table(a: Dict) -> str:
    columns = [
        Column("Measure", item("symbol")),
        Column("Value", item("value"), number),
        Column("Low", item("low"), number),
        Column("High", item("high"), number),
        Column("Whom it promises something", item("promise")),
        Column("In brolly", item("name")),
    ]
    caption = f"All measures with {percent(a['confidence_level'])} intervals"
    return table(caption, "measures", columns, a["measures"])


def _segments(a: Dict, index: int) -> str:
    segments = a["segments"]
    columns = [
        Column(" / ".join(segments["by"]), item("label")),
        Column("Rows", item("n"), count),
        Column("Event rate", item("event_rate"), percent),
        Column("SCDL", item("value"), number),
        Column("Low", item("low"), number),
        Column("High", item("high"), number),
        Column("By chance", item("null_mean"), number),
        Column("p", item("p_value"), number),
        Column("q", item("q_value"), number),
        Column("In words", _standing),
    ]
    options = "".join(f'<option value="{i}">{escape(row["label"])}</option>' for i, row in enumerate(segments["rows"]))
    rest = segments.get("not_shown", 0)
    note = f"<p>{count(rest)} more segments are not on this page; the worst {MAX_SEGMENTS} are.</p>" if rest else ""
    most = " Drawn are the 40 largest values." if len(segments["rows"]) > DRAWN_SEGMENTS else ""
    about = (
        f"Red: off beyond chance, at a false discovery rate of {percent(segments['fdr'])} ({segments['method']}). "
        f"Grey dot: fewer than {count(segments['few_rows'])} rows, not judged. Grey tick: what a perfectly calibrated "
        f"forecast of that many rows shows on average.{most}"
    )
    return (
        f'<section class="card" aria-labelledby="segments-{index}"><h2 id="segments-{index}">Who is served worse</h2>'
        f'<p class="picker segment-picker" hidden><label for="segment-{index}">Show a segment</label> '
        f'<select id="segment-{index}"><option value="-1">all</option>{options}</select></p>'
        f'<p class="segment-words" role="status"></p>'
        f'<figure><div class="chart" data-chart="segments"></div><figcaption>{escape(about)}</figcaption></figure>'
        + note
        + table("Segments", "segments", columns, segments["rows"], mark="flagged")
        + "</section>"
    )


def _standing(row: Dict) -> str:
    return "off beyond chance" if row["flagged"] else "too few rows to judge" if row["small"] else "no more than chance"


def _method(a: Dict) -> str:
    """What was done, in an order in which it can be followed, and where it is written down."""
    guarantee, test, m = a.get("guarantee"), a.get("test"), a["regret"]["grid"]
    words = [
        "Forecasts are rounded to a multiple of 1/m at random, so that they stay the same on average. What can be lost "
        "by trusting the rounded forecast is measured against the best change of actions in hindsight. SCDL looks at "
        "all m = 2, 4, 8, ... and takes the one where the loss meets 1/m.",
        f"The regret curve and the points are those of the grid 1/{m}. Intervals of the points: "
        f"{a['reliability']['method']}.",
    ]
    if guarantee is not None:
        words.append(f"What is promised of new rows ({guarantee['method']}): {guarantee['words']}")
    if test is not None:
        drawn = f"{count(a['n_resamples'])} times" if a["n_resamples"] else "many times"
        words.append(f"The test redraws all outcomes {drawn} as if the forecast were right. {test['words']}")
    if a["regret"]["worst_task_words"]:
        words.append(f"The decision with the largest loss on these rows: {a['regret']['worst_task_words']}.")
    if a["compressed"] is not None:
        words.append(f"The rows were compressed to a grid of {count(a['compressed'])} cells, which keeps SCDL exactly.")
    seed = "a generator of the caller's" if a["seed"] is None else f"seed {a['seed']}"
    words.append(f"Random numbers: {seed}. brolly {a['brolly']}.")
    return f"<ul>{items(words)}</ul><h3>References</h3><ul>{items((*REFERENCES, *_sources(a)))}</ul>"


def _sources(a: Dict) -> list[str]:
    """What each measure goes back to, measures with the same source together."""
    sources: dict[str, list[str]] = {}
    for measure in a["measures"]:
        sources.setdefault(measure["reference"], []).append(measure["symbol"])
    return [f"{'; '.join(symbols)}: {reference}." for reference, symbols in sources.items()]
