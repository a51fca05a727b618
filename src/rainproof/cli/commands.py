"""The commands: ``add_NAME`` adds one with its options, and has the help text of the command as its
docstring.

Nothing heavy is imported here, as help should not wait for NumPy. The module that runs a command is
in `COMMANDS` of `rainproof.cli.app`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rainproof.cli import option_types
from rainproof.cli.options import (
    COSTS,
    RESULT,
    ROWS,
    ROWS_AS_THEY_ARE,
    Commands,
    add_copied,
    add_output,
    add_shared,
    new_command,
)
from rainproof.errors import FEW_ROWS
from rainproof.recalibration.method_names import CLASS_METHODS, EVENT_METHODS
from rainproof.verdict.grades import GRADES

ASSESS = (
    "--prob", "--classes", *ROWS, "--by", "--groups", "--max-weight", "--fractional",
    *COSTS, "--capacity",
    "--threshold-range", "--confidence-level", "--seed", "--cost-matrix",
)  # fmt: skip
"""What decides what 'rainproof assess' and 'rainproof report' say: a line that is printed repeats
it.
"""

# For commands that refuse columns of costs.
_COST_FP = "cost of a false positive (false alarm)"
_COST_FN = "cost of a false negative (missed event)"


def add_assess(commands: Commands) -> None:
    """Assess predicted probabilities: are they useful and calibrated, what would
    recalibration gain, and what do they cost you?

    The command prints the verdict (use, recalibrate, avoid or unknown), its reason, the
    next step and a table. Losses are bounded at the confidence level; costs, skill and
    gains are estimates.

    examples:
      rainproof assess rain.csv --prob probability --outcome rained
      rainproof assess loans.parquet --prob p_default --outcome status \\
          --pos-label default --weight amount --cost-fp 1 --cost-fn 9 --json
      rainproof assess data/*.parquet --prob p --outcome y --by region
      rainproof assess visits.csv --prob risk --outcome died \\
          --threshold-range 5%,20%
      rainproof assess visits.csv --prob p --outcome died --groups patient \\
          --fail-on avoid,recalibrate
      rainproof assess photos.csv --classes cat dog eel --outcome animal
      rainproof assess payments.csv --prob p --outcome fraud \\
          --cost-fp 5 --cost-fn amount --capacity 2%

    --groups, --fractional, --classes and columns of costs keep all rows in memory.
    """
    parser = new_command(
        commands,
        add_assess,
        "give a verdict: useful, calibrated, at what cost?",
        most_used=("--prob", "--outcome", "--cost-fp", "--cost-fn", "--groups"),
        one="if --fail-on names the grade",
    )
    add_shared(parser, "file", *ASSESS, guess=True)
    parser.add_argument(
        "--fail-on",
        metavar="GRADES",
        type=_grades,
        default=(),
        help=f"exit with code 1 for these grades: {','.join(sorted(GRADES))}",
    )
    parser.add_argument("--verbose", action="store_true", help="also print the details")
    add_shared(parser, *RESULT)


def _grades(text: str) -> tuple[str, ...]:
    grades = tuple(part.strip() for part in text.split(","))
    unknown = [grade for grade in grades if grade not in GRADES]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"must name grades ({', '.join(GRADES)}), with commas; it has {unknown[0]!r}"
        )
    return grades


def add_report(commands: Commands) -> None:
    """Write a report on predicted probabilities: one HTML page.

    The verdict comes first, then charts, tables and the method. A slider takes the costs
    of a false positive (false alarm) and a false negative (missed event), and shows the
    advice for them. The page works in any browser without a network, and can be mailed.

    examples:
      rainproof report rain.csv --prob probability --outcome rained \\
          -o report.html --open
      rainproof report rain.csv --prob probability --outcome rained --by city \\
          --cost-fp 35 --cost-fn 65 -o report.html
      rainproof report loans.parquet --prob p_default --outcome status \\
          --pos-label default --weight amount -o report.html --json > numbers.json
      rainproof report visits.csv --prob risk --outcome died --groups patient \\
          --preset clinical -o report.html
      rainproof report photos.csv --classes cat dog eel --outcome animal \\
          --cost-matrix costs.json -o report.html

    Files may be larger than memory, except with --groups, --fractional, --classes or
    columns of costs.
    """
    parser = new_command(
        commands,
        add_report,
        "write the verdict with charts, as one HTML page",
        most_used=("--prob", "--outcome", "--cost-fp", "--cost-fn", "--output"),
    )
    add_shared(parser, "file", *ASSESS, guess=True)
    parser.add_argument(
        "--preset",
        choices=["clinical"],
        help=(
            "clinical: first show the measures and plots of the STRATOS core set, and the "
            "TRIPOD+AI items they serve"
        ),
    )
    _add_page(parser)
    add_output(parser, "page to write (.html)", "report", ".html", ".htm")
    add_shared(parser, "--quiet")


def _add_page(parser: argparse.ArgumentParser) -> None:
    """Add what to do with the page, and what to print."""
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    add_shared(parser, "--json", json="print all numbers as JSON instead of the verdict")


def add_demo(commands: Commands) -> None:
    """Write a report on 2,000 rain forecasts that come with rainproof.

    The forecasts are overconfident. The command writes them (rain.csv) and the report
    (report.html) to a folder. An umbrella that nobody needs (a false positive) costs 35,
    getting wet (a false negative) costs 65.

    examples:
      rainproof demo --open
      rainproof demo build/demo --quiet
    """
    parser = new_command(
        commands,
        add_demo,
        "write a report on forecasts that come with rainproof",
        most_used=("--open", "--json", "--force", "--quiet"),
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        type=option_types.folder,
        default=Path("rainproof-demo"),
        help="folder to write to (default: rainproof-demo)",
    )
    _add_page(parser)
    add_shared(parser, "--force", "--quiet")


def add_assess_many(commands: Commands) -> None:
    """Assess several forecasts in columns of files: which one suits your costs?

    With --cost-fp and --cost-fn, forecasts are ranked by the expected cost per case, with
    intervals, beside always acting, never acting and perfect foresight. Without costs,
    they are ranked by the Brier score (the cost averaged over all thresholds), each used
    as its verdict advises. For every pair the command reports whether a switch is proven
    to gain more in some decision than it loses in any; such a forecast comes first. A
    calibration error ranks nothing: a constant can be perfectly calibrated.

    examples:
      rainproof assess-many rain.csv --prob p_2025 p_2026 --outcome rained
      rainproof assess-many loans.parquet --prob a b c --outcome defaulted \\
          --cost-fp 1 --cost-fn 20 --groups customer

    All rows are kept in memory, about 20 bytes for each row and forecast.
    """
    parser = new_command(
        commands,
        add_assess_many,
        "rank several forecasts, for your costs or for all",
        most_used=("--prob", "--outcome", "--cost-fp", "--cost-fn", "--groups"),
    )
    level = (
        "confidence level of the verdict on each forecast, and of all comparisons together "
        "(default: 0.95)"
    )
    parser.add_argument(
        "--prob",
        metavar="COL",
        nargs="+",
        required=True,
        help="columns of predicted probabilities, two or more",
    )
    add_shared(
        parser, "file", *ROWS, "--groups", "--max-weight", "--fractional", *COSTS, guess=True
    )
    add_shared(parser, "--threshold-range")
    add_shared(parser, "--confidence-level", "--seed", *RESULT, confidence_level=level)


def add_switch(commands: Commands) -> None:
    """Should a new forecast replace an old one? The command prints the largest loss and
    the largest gain of any decision that acts on the new one: on these rows, and, with
    the stated confidence, in the population that they were drawn from.

    Decisions are those whose thresholds are multiples of 1/1024 (all decisions with
    --groups or --fractional). The clusters, or else the cases, must be independent, and
    neither forecast may have been fitted on them.

    examples:
      rainproof switch rain.csv --old p_2025 --new p_2026 --outcome rained
      rainproof switch data/*.parquet --old p --new q --outcome y --plot switch.png

    Files may be larger than memory, except with --groups and --fractional.
    """
    parser = new_command(
        commands,
        add_switch,
        "bound losses and gains of a new forecast over an old one",
        most_used=("--old", "--new", "--outcome", "--groups", "--plot"),
    )
    level = "confidence level of each of the two bounds (default: 0.95)"
    add_shared(parser, "file", "--old", "--new", *ROWS, "--groups", "--max-weight", "--fractional")
    add_shared(parser, "--threshold-range", "--confidence-level", "--seed", confidence_level=level)
    add_shared(
        parser, "--plot", *RESULT, plot="also draw the loss at each threshold: .png, .svg or .pdf"
    )


def add_threshold(commands: Commands) -> None:
    """Find a threshold that is proven to keep a target: at least 90% of the flagged cases
    are events (--precision 90%), at least 80% of the events are flagged (--recall 80%,
    also called sensitivity), at most 5% of the other cases are flagged
    (--false-positive-rate 5%), or several of these at once.

    The command prints the threshold that flags most cases (with --recall alone, fewest),
    what is proven there, what is measured, and how many cases it flags. If no threshold
    is proven, it estimates how many rows would be needed. The clusters, or else the
    cases, must be independent, and the forecast must not have been fitted on them.

    examples:
      rainproof threshold alarms.csv --prob p --outcome real --precision 90%
      rainproof threshold scans.csv --prob risk --outcome ill --recall 95% \\
          --groups patient
      rainproof threshold answers.jsonl --prob confidence --outcome correct \\
          --precision 95%

    The last example finds the confidence from which a model should answer; below it, the
    model abstains. Up to 262,144 rows are used exactly; more are compressed while they
    are read. Files may be larger than memory, except with --groups, --fractional and
    --max-weight. Unequal weights need --max-weight.
    """
    parser = new_command(
        commands,
        add_threshold,
        "find a threshold with proven precision or recall",
        most_used=("--prob", "--outcome", "--precision", "--recall", "--groups"),
        one="if none is proven",
    )
    add_shared(
        parser, "file", "--prob", *ROWS, "--groups", "--max-weight", "--fractional", guess=True
    )
    targets = {
        "--precision": "target: smallest share of events among the flagged cases",
        "--recall": "target: smallest share of flagged cases among the events (sensitivity)",
        "--false-positive-rate": (
            "target: largest share of flagged cases among those without the event (1 - specificity)"
        ),
    }
    for flag, words in targets.items():
        parser.add_argument(
            flag, metavar="SHARE", type=option_types.share, help=f"{words}: 0.9 or 90%%"
        )
    level = "confidence that the threshold keeps its targets (default: 0.95)"
    add_shared(parser, "--confidence-level", "--seed", confidence_level=level)
    add_shared(
        parser,
        "--plot",
        *RESULT,
        plot="also draw what is measured at each threshold: .png, .svg or .pdf",
    )


def add_measure(commands: Commands) -> None:
    """Measure the calibration of predicted probabilities on these rows alone, without
    resampling.

    The command prints the Soft-Binned Calibration Decision Loss (SCDL; 0 is perfect,
    0.5 is the worst), what it bounds, and all other measures. 'rainproof assess' tests
    and bounds what is true beyond these rows.

    examples:
      rainproof measure rain.csv --prob probability --outcome rained
      rainproof measure data/*.parquet --prob p --outcome y --by region \\
          --fail-above 0.03

    Files may be larger than memory, except with --classes.
    """
    parser = new_command(
        commands,
        add_measure,
        "measure calibration on these rows alone",
        most_used=("--prob", "--outcome", "--by", "--fail-above", "--json"),
        one="if SCDL is above what --fail-above allows",
    )
    add_shared(parser, "file", "--prob", "--classes", *ROWS, "--by", guess=True)
    parser.add_argument(
        "--rounding",
        choices=["soft", "hard"],
        default="soft",
        help="how SCDL rounds probabilities: at random without bias (soft, default) or down (hard)",
    )
    parser.add_argument(
        "--fail-above",
        metavar="SCDL",
        type=float,
        help=(
            f"exit with code 1 if SCDL is above this, for all rows or for a segment of {FEW_ROWS} "
            "rows or more"
        ),
    )
    add_shared(parser, *RESULT)


def add_store(commands: Commands) -> None:
    """Compress predictions and outcomes to one small Parquet file.

    Its size does not depend on the number of rows; it keeps SCDL, the regret curve and
    the guarantee. Stored samples can be merged: store one a day, and monitor them.

    examples:
      rainproof store today.parquet --prob p --outcome y -o days/2026-03-02.parquet
      rainproof monitor days --window 7
    """
    parser = new_command(
        commands,
        add_store,
        "compress the files of a period to one small file",
        most_used=("--prob", "--outcome", "--output", "--where", "--quiet"),
    )
    add_shared(parser, "file", "--prob", *ROWS_AS_THEY_ARE)
    add_output(parser, ".parquet file to write; a missing folder is created", "sample", ".parquet")
    add_shared(parser, "--quiet")


OF_ROWS = ("--prob", *ROWS_AS_THEY_ARE)


def add_monitor(commands: Commands) -> None:
    """Compare predictions with outcomes period by period, and report whether the forecast
    is in alarm now, since when, and how it is miscalibrated.

    A folder holds one stored sample for each period (see 'rainproof store'), ordered by
    name: 2026-03-02.parquet. For rows in files or a database, --by names the column of
    periods; they are ordered as numbers, or else as text: 2026-03-02. Alarms
    come from a sequential test, not from a limit on a loss: it may run every night. The test
    assumes that rows are drawn one after the other; with --dependent-rows, rows of a period may
    depend on each other, as in one storm.

    examples:
      rainproof monitor days
      rainproof monitor days --window 28 --plot timeline.png
      rainproof monitor flights.csv --by day --prob p --outcome late \\
          --dependent-rows
      rainproof monitor log.parquet --by time --every day --segments region
      rainproof monitor days --fail-on new --state alarms.json || mail -s alarm me
    """
    parser = new_command(
        commands,
        add_monitor,
        "test over time whether predictions match outcomes",
        most_used=("--by", "--prob", "--outcome", "--window", "--fail-on"),
        one="while in alarm with --fail-on change, or if the alarm is new with --fail-on new",
    )
    parser.add_argument(
        "source",
        metavar="SOURCE",
        type=option_types.source,
        nargs="+",
        help=(
            "a folder of stored samples, one .parquet file for each period; or, with --by, "
            "files or a database table, as for 'rainproof store'"
        ),
    )
    parser.add_argument(
        "--by", metavar="COL", help="column of periods, for rows in files or a database"
    )
    parser.add_argument(
        "--every",
        choices=("hour", "day", "week", "month"),
        help="merge the times in --by, such as 2026-03-02 14:05, into periods of this length",
    )
    parser.add_argument(
        "--segments",
        metavar="COL",
        nargs="+",
        help=(
            "with --by: columns of segments, to find which of them changed; --alpha holds for all "
            "of them together"
        ),
    )
    add_shared(parser, *OF_ROWS, guess=True)
    parser.add_argument(
        "--window", metavar="N", type=int, default=1, help="merge the last N periods (default: 1)"
    )
    add_shared(
        parser,
        *COSTS,
        "--confidence-level",
        confidence_level="confidence level of each bound (default: 0.95)",
        cost_fp=_COST_FP,
        cost_fn=_COST_FN,
    )
    parser.add_argument(
        "--alpha",
        metavar="A",
        type=option_types.probability,
        default=0.01,
        help=(
            "a calibrated forecast raises a false alarm after 1/A periods or more, on average "
            "(default: 0.01)"
        ),
    )
    parser.add_argument(
        "--dependent-rows",
        action="store_true",
        help=(
            "rows of a period may depend on each other, as in one storm: a period "
            "is one observation"
        ),
    )
    add_shared(parser, "--plot", plot="also draw the timeline: .png, .svg or .pdf")
    parser.add_argument(
        "--fail-on",
        choices=("change", "new"),
        help="exit with code 1 while in alarm (change), or if the newest period raises it (new)",
    )
    parser.add_argument(
        "--state",
        metavar="FILE",
        type=option_types.path,
        help=(
            "file of the alarms reported so far: with --fail-on new, an alarm is new until a run "
            "has reported it; a missing file is created"
        ),
    )
    add_shared(parser, *RESULT)


RECALIBRATE = (
    "--prob", "--classes", *ROWS, "--by", "--groups", "--max-weight", "--fractional",
    "--cost-matrix",
    "--threshold-range", "--confidence-level", "--seed",
)  # fmt: skip
"""What decides which map 'rainproof recalibrate' fits, beside its methods: a line that is printed
repeats it.
"""


def add_recalibrate(commands: Commands) -> None:
    """Recalibrate predicted probabilities: fit a recalibration map to past predictions and
    outcomes. With 2,000 rows or more, its effect is proven on rows held out.

    The map is the mean of those of several methods, among them Platt scaling (logistic)
    and isotonic regression. With --by, a segment gets its own map where rows held out
    prove a gain.

    examples:
      rainproof recalibrate past.csv --prob probability --outcome rained -o map.json
      rainproof recalibrate loans/*.parquet --prob p --outcome status \\
          --pos-label default --by region -o map.json
      rainproof recalibrate photos.csv --classes cat dog eel --outcome animal \\
          -o map.json

    'rainproof apply' recalibrates a file; 'rainproof policy --map' acts on recalibrated
    probabilities. Files may be larger than memory, except with --groups, --fractional
    and --classes.
    """
    parser = new_command(
        commands,
        add_recalibrate,
        "fit a recalibration map to past predictions",
        most_used=("--prob", "--outcome", "--output", "--by", "--groups"),
    )
    level = "confidence level of each bound (default: 0.95)"
    add_shared(parser, "file", *RECALIBRATE, confidence_level=level)
    names = f"{', '.join(EVENT_METHODS)}; of several classes: {', '.join(CLASS_METHODS)}"
    parser.add_argument(
        "--methods",
        metavar="M",
        nargs="+",
        choices=tuple(dict.fromkeys((*EVENT_METHODS, *CLASS_METHODS))),
        help=f"methods to average (default: all): {names}",
    )
    add_shared(parser, "--plot", plot="also draw the map: .png, .svg or .pdf")
    add_shared(parser, "--json", json="print the map as JSON instead of text")
    add_output(parser, "recalibration map to write, as JSON", "recalibrator", ".json")
    add_shared(parser, "--quiet")


def add_apply(commands: Commands) -> None:
    """Recalibrate each row of a file of predicted probabilities, by a recalibration map.

    The file is copied with a column of recalibrated probabilities added:
    COL_recalibrated.

    examples:
      rainproof recalibrate past.csv --prob probability --outcome rained -o map.json
      rainproof apply today.csv --map map.json --prob probability -o better.csv
      rainproof apply new.csv --map map.json --classes cat dog eel -o better.csv

    The file may be larger than memory.
    """
    parser = new_command(
        commands,
        add_apply,
        "recalibrate each row of a file, by that map",
        most_used=("--map", "--prob", "--output", "--by", "--keep-missing"),
    )
    add_copied(parser)
    parser.add_argument(
        "--map",
        metavar="FILE",
        type=option_types.file_name,
        required=True,
        help="recalibration map, as written by 'rainproof recalibrate'",
    )
    add_shared(parser, "--by", by="columns of segments (default: those the map was fitted with)")
    parser.add_argument(
        "--unseen",
        choices=("error", "pooled"),
        default="error",
        help=(
            "how to treat segments that the map was not fitted to: error (default), or pooled, the "
            "map of all rows"
        ),
    )
    add_output(
        parser,
        "file to write; it appears only when it is complete",
        None,
    )
    add_shared(parser, "--quiet")


def add_stream(commands: Commands) -> None:
    """Recalibrate a stream of predictions, one line in, one line out.

    Standard input has one JSON object a line: {"id": "a", "p": 0.7} asks for a
    recalibrated prediction, {"id": "a", "y": 1} reports its outcome, however late. The
    answers are {"id": "a", "probability": 0.703125} and {"id": "a", "learnt": true},
    or {"error": ...} for a line that is refused.

    The state is in a file, with a journal and a lock beside it. The process may be
    killed at any point: start it again with the same file, and send again the lines
    that were not answered. Nothing is lost, and nothing is learned twice. Use each id
    once, and one process for each file.

    examples:
      model | rainproof stream state.json | users
      rainproof stream state.json < lines.jsonl
    """
    parser = new_command(
        commands,
        add_stream,
        "recalibrate a stream of predictions",
        most_used=("--grid", "--seed"),
        one="if a line was refused",
    )
    parser.add_argument(
        "state",
        metavar="FILE",
        type=option_types.file_name,
        help="state file; a missing one is created",
    )
    parser.add_argument(
        "--grid",
        metavar="M",
        type=int,
        help="grid of a new state, a power of two (default: it grows)",
    )
    parser.add_argument(
        "--seed",
        metavar="N",
        type=int,
        help="seed of a new state (default: random, and secret)",
    )


_GRIDS = [2**k for k in range(1, 17)]  # up to that of rows that were compressed
_GRID = f"a power of two from 2 to {_GRIDS[-1]:,}"


def add_policy(commands: Commands) -> None:
    """Make a policy: how to act on probabilities with a small loss for every decision.

    State the decision by two costs, or by the threshold from which to act. The policy
    rounds probabilities to a grid at random, then acts: the grid has the smallest loss on
    the past predictions and outcomes in files. Rows close to the threshold may therefore
    get either action; the command prints what that costs on these rows, beside the cost
    of acting on the original probabilities. With --map the policy recalibrates them
    first, by a map of 'rainproof recalibrate', which it stores.

    examples:
      rainproof policy past.csv --prob probability --outcome rained \\
          --cost-fp 35 --cost-fn 65 -o policy.json
      rainproof policy loans.parquet --prob p_default --outcome status \\
          --pos-label default --threshold 0.1 --actions lend refuse -o policy.json
      rainproof policy past.csv --prob probability --outcome rained \\
          --threshold 0.3 --map map.json -o policy.json

    'rainproof decide' applies the policy. Decisions with more than two actions need
    Python: rainproof.RoundingPolicy(task, sample=...).save("policy.json"). A forecast
    that 'rainproof assess' grades "avoid" or "recalibrate" gets a warning; only that
    grade uses --groups.
    """
    parser = new_command(
        commands,
        add_policy,
        "make a policy from costs and past predictions",
        most_used=("--prob", "--outcome", "--cost-fp", "--cost-fn", "--output"),
    )
    add_shared(
        parser, "file", "--prob", *ROWS, "--groups", *COSTS, cost_fp=_COST_FP, cost_fn=_COST_FN
    )
    parser.add_argument(
        "--threshold",
        metavar="P",
        type=option_types.probability,
        help="instead of costs: act when the probability is at least P",
    )
    parser.add_argument(
        "--actions",
        metavar=("LOW", "HIGH"),
        nargs=2,
        default=["wait", "act"],
        help="names of the two actions (default: wait act)",
    )
    parser.add_argument(
        "--map",
        metavar="FILE",
        type=option_types.file_name,
        help="recalibration map of 'rainproof recalibrate', which the policy applies first",
    )
    parser.add_argument(
        "--grid",
        metavar="M",
        type=option_types.whole_number(_GRID, _GRIDS),
        help=(
            "round to multiples of 1/M, a power of two (default: the grid with the smallest loss "
            "for any decision); a finer grid acts at random less often, with a weaker guarantee"
        ),
    )
    add_shared(
        parser, "--seed", "--json", json="print the policy and its costs as JSON instead of text"
    )
    add_output(parser, "policy to write, as JSON", "policy", ".json")
    add_shared(parser, "--quiet")


DECISION = (*COSTS, "--cost-matrix", "--capacity")
"""What decides how 'rainproof decide' acts, beside a policy: a line that is printed repeats it."""


def add_decide(commands: Commands) -> None:
    """Decide each row of a file of predicted probabilities, by a policy or by costs.

    The file is copied with a column 'action' added. With --policy, probabilities are
    rounded to the grid of the policy at random, so rows close to a threshold may get
    either action. The same id and probability always get the same one, in any file,
    order and process. With --cost-fp and --cost-fn, the original probabilities are
    compared with the threshold of the costs; columns of costs give each row its own
    threshold. With both, the policy rounds, and the costs decide.

    --capacity limits how many rows of the file (or which share of them) are acted on:
    those where acting gains most by the probabilities. A lottery by --id, which it
    needs, decides between equal ones.

    The decisions assume that the probabilities are calibrated: 'rainproof assess' tests
    that on past rows with their outcomes, and 'rainproof apply' recalibrates them.

    examples:
      rainproof policy past.csv --prob probability --outcome rained \\
          --cost-fp 35 --cost-fn 65 -o policy.json
      rainproof decide today.csv --policy policy.json --prob probability --id city \\
          -o decided.csv
      rainproof decide payments.csv --prob p --cost-fp 5 --cost-fn amount \\
          --capacity 200 --id payment -o reviews.csv
      rainproof decide new.csv --classes cat dog eel --cost-matrix costs.json \\
          -o decided.csv

    The file may be larger than memory, except with --capacity.
    """
    parser = new_command(
        commands,
        add_decide,
        "decide each row of a file, by a policy or by costs",
        most_used=("--prob", "--cost-fp", "--cost-fn", "--policy", "--output"),
    )
    add_copied(parser)
    parser.add_argument(
        "--policy",
        metavar="FILE",
        type=option_types.file_name,
        help="policy, as written by 'rainproof policy'",
    )
    add_shared(parser, *DECISION)
    parser.add_argument(
        "--id",
        metavar="COL",
        help="column of row ids, integers or text; --policy and --capacity need it",
    )
    parser.add_argument(
        "--rounded",
        action="store_true",
        help="with --policy: also add a column 'rounded', the probability acted on",
    )
    add_output(
        parser,
        "file to write; it appears only when it is complete",
        None,
    )
    add_shared(parser, "--quiet")


def add_completion(commands: Commands) -> None:
    """Print a script with which a shell completes rainproof's commands, options and files.

    examples:
      source <(rainproof completion bash)
      rainproof completion zsh > ~/.zfunc/_rainproof
      rainproof completion fish > ~/.config/fish/completions/rainproof.fish

    The line for bash belongs in ~/.bashrc; for zsh, the folder must be in your $fpath.
    The command needs shtab (pip install shtab); the script needs nothing.
    """
    parser = new_command(
        commands, add_completion, "print a completion script for your shell", most_used=()
    )
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="your shell")
