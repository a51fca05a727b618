"""One browser for all tests of the report: starting it takes longer than any of them."""

import pytest
from helpers.browser import Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("downloads"))
    yield browser
    browser.driver.quit()
