"""rainproof inside scikit-learn: scorers, the recalibrated classifier, displays."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn
from helpers.cases import for_each
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

import rainproof
import rainproof.integrations.sklearn as skl
from rainproof.integrations.sklearn import NOT_EQUIVALENT


class Stated(ClassifierMixin, BaseEstimator):
    """A classifier whose predictions are the first column."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.stack([1 - X[:, 0] ** self.power, X[:, 0] ** self.power], axis=1)

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]


class InUnits(ClassifierMixin, BaseEstimator):
    """A classifier with scores alone, in a unit."""

    def __init__(self, unit=1.0):
        self.unit = unit

    def fit(self, X, y):
        self.model_ = LogisticRegression().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X):
        return self.unit * (self.model_.decision_function(X) + 3)

    def predict(self, X):
        return self.model_.predict(X)


class OnlyClasses(ClassifierMixin, BaseEstimator):
    """A classifier with neither probabilities nor scores."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return p[:, None], (rng.random(n) < p**2).astype(int), rng.integers(1, 4, n)


class TestScorers:
    def test_net_benefit(self):
        X, y, w = rows()
        found = skl.net_benefit_scorer(0.25)(Stated().fit(X, y), X, y, sample_weight=w)
        acted = X[:, 0] >= 0.25
        assert found == pytest.approx((w * acted * (y - (1 - y) / 3)).sum() / w.sum())

    def test_expected_cost(self):
        X, y, w = rows()
        task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=9)
        found = skl.expected_cost_scorer(task)(Stated().fit(X, y), X, y, sample_weight=w)
        cost = np.where(X[:, 0] >= 0.1, 1 - y, 9 * y)
        assert found == pytest.approx(-(w * cost).sum() / w.sum())

    def test_the_worst_task_is_the_largest_shortfall_from_foresight(self):
        X, y, w = rows(60)
        found = skl.worst_task_scorer()(Stated().fit(X, y), X, y, sample_weight=w)
        outcome = y.astype(float)
        assert (
            found
            == -rainproof.switch_guarantee(outcome, outcome, X[:, 0], sample_weight=w, rng=0).harm
        )
        thresholds = np.linspace(0.001, 0.999, 997)
        loss = [
            np.average(np.where(X[:, 0] >= t, t * (1 - y), (1 - t) * y), weights=w)
            for t in thresholds
        ]
        assert -found >= max(np.array(loss) / np.maximum(thresholds, 1 - thresholds)) - 1e-12

    def test_in_expectation_nothing_scores_better_than_the_truth(self):
        """Weights instead of draws: each prediction with both outcomes, in their probabilities."""
        q = np.array([0.1, 0.35, 0.6, 0.9])
        y, p, w = np.repeat([0, 1], 4), np.tile(q, 2), np.concatenate([1 - q, q])
        score = skl.worst_task_scorer()
        for power in (0.3, 0.7, 1.5, 4.0):
            worse = score(Stated(power).fit(p[:, None], y), p[:, None], y, sample_weight=w)
            assert worse < score(Stated().fit(p[:, None], y), p[:, None], y, sample_weight=w)

    def test_a_calibration_error_prefers_the_constant_and_the_others_do_not(self):
        X, y, _ = rows(2000)
        model, constant = Stated(2.1).fit(X, y), DummyClassifier(strategy="prior").fit(X, y)
        calibration = skl.calibration_scorer("expected_calibration_error")
        assert calibration(constant, X, y) > calibration(model, X, y)
        for scorer in (skl.worst_task_scorer(), skl.net_benefit_scorer(0.5)):
            assert scorer(model, X, y) > scorer(constant, X, y)

    def test_options_reach_the_measure(self):
        X, y, _ = rows()
        found = skl.calibration_scorer("calibration_decision_loss", swaps="monotone")(
            Stated().fit(X, y), X, y
        )
        assert found == -rainproof.measures.calibration_decision_loss(y, X[:, 0], swaps="monotone")
        found = skl.calibration_scorer("calibration_decision_loss", grid=16)(
            Stated().fit(X, y), X, y
        )
        assert found == -rainproof.regret_curve(y, X[:, 0], grid=16).loss

    def test_they_work_in_searches_with_text_labels(self):
        X, y = make_classification(200, random_state=0)
        label = np.where(y == 1, "yes", "no")
        scoring = {
            "benefit": skl.net_benefit_scorer(0.2, pos_label="yes"),
            "worst": skl.worst_task_scorer(pos_label="yes"),
            "scdl": skl.calibration_scorer(pos_label="yes"),
        }
        search = GridSearchCV(
            LogisticRegression(), {"C": [0.01, 1]}, scoring=scoring, refit="benefit", cv=3
        ).fit(X, label)
        assert np.isfinite(search.cv_results_["mean_test_worst"]).all()
        assert (search.cv_results_["mean_test_scdl"] <= 0).all()
        assert cross_val_score(
            LogisticRegression(), X, y, scoring=skl.net_benefit_scorer(0.2)
        ).shape == (5,)

    @for_each(
        "make, match",
        [
            (lambda: skl.net_benefit_scorer(1.0), "threshold must be a number between 0 and 1"),
            (lambda: skl.net_benefit_scorer("x"), "threshold must be a number"),
            (
                lambda: skl.expected_cost_scorer(rainproof.DecisionTask.quadratic()),
                "task must be a FiniteTask",
            ),
            (lambda: skl.calibration_scorer("ece"), "measure must be one of"),
        ],
    )
    def test_bad_options_are_refused_at_once(self, make, match):
        with pytest.raises(rainproof.InputError, match=match):
            make()


class TestRecalibratedClassifier:
    @pytest.mark.parametrize(
        "parameters",
        [
            {"methods": ["none", "temperature"]},
            {"methods": "logistic"},
            {"methods": "isotonic"},
            {"methods": "none", "estimator": LinearSVC()},
        ],
        ids=str,
    )
    def test_scikit_learns_own_checks_pass(self, parameters):
        model = skl.RecalibratedClassifier(cv=2, **parameters)
        options = {}
        if "expected_failed_checks" in inspect.signature(check_estimator).parameters:  # from 1.6 on
            options = {"expected_failed_checks": NOT_EQUIVALENT, "on_skip": None}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few rows, many times
            check_estimator(model, **options)

    def test_it_recalibrates(self):
        X, y, _ = rows(4000)
        model = skl.RecalibratedClassifier(Stated()).fit(X[:2000], y[:2000])
        better = brier_score_loss(y[2000:], model.predict_proba(X[2000:])[:, 1])
        assert better < brier_score_loss(y[2000:], X[2000:, 0]) - 0.01
        assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
        assert (model.predict(X) == (model.predict_proba(X)[:, 1] > 0.5)).all()
        assert model.recalibrator_.predict([0.5])[0] == pytest.approx(0.25, abs=0.05)

    def test_the_map_is_fitted_to_rows_held_out(self):
        """A classifier that knows the rows it was fitted to says nothing about others."""

        class Memory(Stated):
            def fit(self, X, y):
                self.seen_ = dict(zip(X[:, 0], y, strict=True))
                return super().fit(X, y)

            def predict_proba(self, X):
                p = np.array([self.seen_.get(x, 0.5) for x in X[:, 0]], float)
                return np.stack([1 - p, p], axis=1)

        X, y, _ = rows(1000)
        model = skl.RecalibratedClassifier(Memory()).fit(X, y)
        assert model.recalibrator_.predict([0.5])[0] == pytest.approx(y.mean(), abs=0.05)

    def test_weights_groups_and_text_labels(self):
        X, y, w = rows(600)
        label = np.where(y == 1, "yes", "no")
        groups = np.arange(600) // 3
        model = skl.RecalibratedClassifier(LogisticRegression(), cv=3).fit(
            X, label, sample_weight=w, groups=groups
        )
        assert list(model.classes_) == ["no", "yes"]
        assert model.recalibrator_.groups_ == 200
        again = clone(model).fit(X, label, sample_weight=w, groups=groups)
        assert (again.predict_proba(X) == model.predict_proba(X)).all()
        unweighted = clone(model).fit(X, label)
        assert (unweighted.predict_proba(X) != model.predict_proba(X)).any()
        # which takes no weights itself
        plain = skl.RecalibratedClassifier(Stated()).fit(X, y, sample_weight=w)
        assert set(plain.predict(X)) == {0, 1}

    def test_whole_groups_are_held_out(self):
        seen = []

        class Watch(Stated):
            def fit(self, X, y):
                seen.append(set(X[:, 1]))
                return super().fit(X, y)

        X, y, _ = rows(300)
        groups = np.arange(300) // 10
        skl.RecalibratedClassifier(Watch(), cv=3).fit(
            np.column_stack([X, groups]), y, groups=groups
        )
        assert [len(s) for s in seen] == [20, 20, 20, 30]

    def test_in_a_pipeline_and_a_search(self):
        X, y = make_classification(300, random_state=1)
        model = make_pipeline(
            StandardScaler(), skl.RecalibratedClassifier(GaussianNB(), cv=KFold(3))
        )
        grid = {"recalibratedclassifier__estimator__var_smoothing": [1e-9, 1e-2]}
        search = GridSearchCV(model, grid, scoring=skl.net_benefit_scorer(0.3), cv=2).fit(X, y)
        assert search.predict_proba(X).shape == (300, 2)

    def test_three_classes(self):
        X, y = make_classification(
            3000, n_informative=6, n_redundant=8, n_classes=3, random_state=2
        )
        words, weight, groups = np.array(["x", "y", "z"])[y], np.ones(1500), np.arange(1500)
        plain = GaussianNB().fit(X[:1500], words[:1500])
        model = skl.RecalibratedClassifier(GaussianNB()).fit(
            X[:1500], words[:1500], sample_weight=weight, groups=groups
        )
        prob = model.predict_proba(X[1500:])
        assert prob.sum(axis=1) == pytest.approx(1)
        assert log_loss(y[1500:], prob) < log_loss(y[1500:], plain.predict_proba(X[1500:])) - 0.05
        assert (model.predict(X[1500:]) == np.array(["x", "y", "z"])[prob.argmax(axis=1)]).all()
        assert set(model.recalibrator_.map_.classes) == {0, 1, 2}
        task = rainproof.DecisionTask.from_cost_matrix(
            [[0, 5, 1], [1, 0, 1], [1, 1, 0]], abstain=0.3
        )
        found = skl.expected_cost_scorer(task)(model, X[1500:], words[1500:])
        assert found == pytest.approx(task.payoff(task.best_response(prob), y[1500:]).mean())
        with pytest.raises(
            rainproof.InputError, match="y must have at least two classes; it has 1 class"
        ):
            skl.RecalibratedClassifier().fit(np.zeros((6, 1)), [1] * 6)

    @for_each("methods", ["logistic", "beta", "bins_8"])
    def test_a_method_of_one_event_is_fitted_to_each_of_three_classes(self, methods):
        X, y = make_classification(
            3000, n_informative=6, n_redundant=8, n_classes=3, random_state=2
        )
        model = skl.RecalibratedClassifier(GaussianNB(), methods=methods).fit(X[:1500], y[:1500])
        prob = model.predict_proba(X[1500:])
        plain = model.estimator_.predict_proba(X[1500:])
        assert log_loss(y[1500:], prob) < log_loss(y[1500:], plain) - 0.1
        one = np.stack(
            [
                own.apply(plain[:, k])
                for k, own in enumerate(model.recalibrator_.map_.parts[0].maps)
            ],
            axis=1,
        )
        np.testing.assert_allclose(prob, one / one.sum(axis=1, keepdims=True), atol=1e-12)

    @for_each("classes", [2, 3])
    @for_each("unit", [1e-4, 1.0, 1e4])
    def test_scores_of_any_unit_become_probabilities(self, classes, unit):
        X, y = make_classification(3000, n_informative=6, n_classes=classes, random_state=3)
        X_new, y_new = X[1500:], y[1500:]
        known = LogisticRegression().fit(X[:1500], y[:1500])
        model = skl.RecalibratedClassifier(InUnits(unit)).fit(X[:1500], y[:1500])
        assert model.response_method_ == "decision_function"
        assert (
            log_loss(y_new, model.predict_proba(X_new))
            < log_loss(y_new, known.predict_proba(X_new)) + 0.02
        )
        assert (
            np.mean(model.predict(X_new) == y_new) > np.mean(known.predict(X_new) == y_new) - 0.02
        )

    def test_a_classifier_without_numbers_is_refused(self):
        X, y, _ = rows(100)
        with pytest.raises(
            rainproof.InputError, match="decision_function; OnlyClasses has neither"
        ):
            skl.RecalibratedClassifier(OnlyClasses()).fit(X, y)

    def test_metadata_is_routed(self):
        """What the classifier and the folds request they get, also through a search around it; else
        it is refused.
        """
        X, y, w = rows(240)
        w = w.astype(float)
        groups = np.arange(240) // 4
        plain = skl.RecalibratedClassifier(LogisticRegression(), cv=3).fit(
            X, y, sample_weight=w, groups=groups
        )
        with sklearn.config_context(enable_metadata_routing=True):
            model = skl.RecalibratedClassifier(
                LogisticRegression().set_fit_request(sample_weight=True), cv=3
            )
            routed = clone(model).fit(X, y, sample_weight=w, groups=groups)
            np.testing.assert_array_equal(routed.predict_proba(X), plain.predict_proba(X))
            without = LogisticRegression().set_fit_request(sample_weight=False)
            alone = skl.RecalibratedClassifier(without, cv=3).fit(X, y, sample_weight=w)
            np.testing.assert_array_equal(
                alone.estimator_.coef_, LogisticRegression().fit(X, y).coef_
            )
            # the map has the weights
            assert (alone.predict_proba(X) != clone(alone).fit(X, y).predict_proba(X)).any()
            clone(model).set_params(cv=KFold(2)).fit(X, y, groups=groups)  # which takes no groups
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                skl.RecalibratedClassifier(LogisticRegression(), cv=3).fit(X, y, sample_weight=w)
            searched = GridSearchCV(
                model.set_fit_request(sample_weight=True, groups=True),
                {"estimator__C": [0.1, 1.0]},
                scoring=skl.worst_task_scorer().set_score_request(sample_weight=True),
                cv=GroupKFold(2),
            ).fit(X, y, sample_weight=w, groups=groups)
            assert searched.best_estimator_.recalibrator_.groups_ == 60


class TestClasses:
    X, y = make_classification(600, n_informative=6, n_classes=3, random_state=2)
    words = np.array(["x", "y", "z"])[y]
    w = np.random.default_rng(0).integers(1, 4, 600)
    model = GaussianNB().fit(X[:300], words[:300])

    def test_scorers(self):
        X, label, w = self.X[300:], self.words[300:], self.w[300:]
        p = self.model.predict_proba(X)
        sample = rainproof.Sample(label, p, sample_weight=w, labels=["x", "y", "z"])

        def score(make, **options):
            return make(**options)(self.model, X, label, sample_weight=w)

        happened = [(label == c).astype(float) for c in "xyz"]
        worst = [
            -rainproof.switch_guarantee(y, y, p[:, k], sample_weight=w, rng=0).harm
            for k, y in enumerate(happened)
        ]
        assert score(skl.worst_task_scorer) == pytest.approx(min(worst), abs=1e-12)
        assert score(skl.worst_task_scorer, pos_label="y") == pytest.approx(worst[1], abs=1e-12)
        found = rainproof.measures.measure_classes(
            sample, measures=["soft_binned_cdl", "brier_score"]
        )
        assert score(skl.calibration_scorer) == -found["soft_binned_cdl"].class_max
        assert (
            score(skl.calibration_scorer, measure="brier_score", pos_label="z")
            == -found["brier_score"].by_class[2]
        )
        benefit = rainproof.net_benefit(label == "y", p[:, 1], [0.3], sample_weight=w).value[0, 0]
        assert score(skl.net_benefit_scorer, threshold=0.3, pos_label="y") == pytest.approx(
            benefit, rel=1e-12
        )
        task = rainproof.DecisionTask.from_costs(false_positive=1, false_negative=3)
        cost = np.where(p[:, 1] >= 0.25, (label != "y") * 1.0, (label == "y") * 3.0)
        found = score(skl.expected_cost_scorer, task=task, pos_label="y")
        assert found == pytest.approx(-np.average(cost, weights=w), rel=1e-12)
        some = label != "z"
        known = skl.calibration_scorer(labels=["x", "y", "z"])(self.model, X[some], label[some])
        assert known == -max(
            rainproof.soft_binned_cdl(label[some] == c, p[some, k]) for k, c in enumerate("xyz")
        )
        assert np.isfinite(
            cross_val_score(GaussianNB(), X, label, scoring=skl.calibration_scorer())
        ).all()
        two_classes = "labels must name the 3 classes of the classifier: 2 are named, or occur here"
        cases = {
            "pos_label must name the class that you act on: there are 3": lambda: score(
                skl.net_benefit_scorer, threshold=0.3
            ),
            two_classes: lambda: skl.worst_task_scorer()(self.model, X[some], label[some]),
            "task must have a payoff for each of 3 classes": lambda: score(
                skl.expected_cost_scorer, task=task
            ),
        }
        for message, call in cases.items():
            with pytest.raises(rainproof.InputError, match=message):
                call()

    def test_displays(self):
        X, label = self.X[300:], self.words[300:]
        p = self.model.predict_proba(X)
        one = skl.ReliabilityDisplay.from_estimator(self.model, X, label, pos_label="z", rng=0)
        two = skl.ReliabilityDisplay.from_predictions(label == "z", p[:, 2], rng=0)
        assert one.result.to_dict() == two.result.to_dict()
        assert one.ax_.get_title().startswith("GaussianNB, z: ")


@pytest.mark.parametrize(
    "display", [skl.ReliabilityDisplay, skl.DecisionCurveDisplay, skl.RegretDisplay]
)
class TestDisplays:
    def test_an_estimator_and_its_predictions_draw_the_same(self, display):
        X, y, w = rows(200)
        label = np.where(y == 1, "yes", "no")
        options = {"rng": 0} if display is skl.ReliabilityDisplay else {}
        _, ax = plt.subplots()
        one = display.from_estimator(
            Stated().fit(X, label), X, label, sample_weight=w, ax=ax, **options
        )
        two = display.from_predictions(
            label, X[:, 0], sample_weight=w, pos_label="yes", name="mine", **options
        )
        assert one.ax_ is ax
        assert one.ax_.get_title().startswith("Stated: ")
        assert two.ax_.get_title().startswith("mine: ")
        assert one.result.to_dict() == two.result.to_dict()
        assert two.figure_ is two.ax_.figure

    def test_the_other_class_can_be_the_event(self, display):
        X, y, _ = rows(50)
        model, options = Stated().fit(X, y), {"rng": 0} if display is skl.ReliabilityDisplay else {}
        found = display.from_estimator(model, X, y, pos_label=0, **options).result.to_dict()
        assert found == display.from_predictions(1 - y, 1 - X[:, 0], **options).result.to_dict()
        with pytest.raises(
            rainproof.InputError, match="pos_label must be a class of the estimator"
        ):
            display.from_estimator(model, X, y, pos_label=2)

    def test_of_three_classes_one_must_be_named(self, display):
        model = Stated().fit(np.zeros((3, 1)), [0, 1, 2])
        with pytest.raises(
            rainproof.InputError, match=r"pos_label must be a class of the estimator, one of \[0, 1"
        ):
            display.from_estimator(model, np.zeros((3, 1)), [0, 1, 2])


def test_without_scikit_learn_the_extra_is_named():
    code = "import sys; sys.modules['sklearn'] = None; import rainproof.integrations.sklearn"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install scikit-learn" in found.stderr


def test_a_recalibrator_is_cloned_with_its_parameters():
    params = {
        "methods": ["logistic", "none"],
        "confidence_level": 0.9,
        "threshold_range": (0.1, 0.3),
        "rng": 3,
    }
    made = rainproof.Recalibrator(**params).fit([0.2, 0.8] * 30, [0, 1] * 30)
    again = clone(made)
    assert again.get_params() == made.get_params() == params
    assert not hasattr(again, "map_")
    assert again.set_params(rng=5).rng == 5
    with pytest.raises(
        rainproof.InputError, match=r"has the parameters methods, .*threshold_range, rng, not seed"
    ):
        again.set_params(seed=1)
