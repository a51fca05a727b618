"""One browser and two pages for all tests of the report: to make them takes longer than any
test.
"""

import pytest
from helpers import report_cases
from helpers.browser import Browser

from rainproof.report import to_html


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("downloads"))
    yield browser
    browser.driver.quit()


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    to_html(report_cases.single(), path)
    return path


@pytest.fixture(scope="session")
def comparison(tmp_path_factory):
    path = tmp_path_factory.mktemp("comparison") / "report.html"
    to_html(report_cases.several(), path, title="Two forecasts")
    return path
