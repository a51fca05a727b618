from rainproof.measures.binned import binned_calibration_error as binned_calibration_error
from rainproof.measures.binned import cutoff_calibration_error as cutoff_calibration_error
from rainproof.measures.binned import expected_calibration_error as expected_calibration_error
from rainproof.measures.binned import two_bin_calibration_error as two_bin_calibration_error
from rainproof.measures.catalogue import Catalogue as Catalogue
from rainproof.measures.catalogue import Measure as Measure
from rainproof.measures.class_measures import measure_classes as measure_classes
from rainproof.measures.decision_loss import calibration_decision_loss as calibration_decision_loss
from rainproof.measures.decision_loss import u_calibration_error as u_calibration_error
from rainproof.measures.distance import (
    lower_distance_to_calibration as lower_distance_to_calibration,
)
from rainproof.measures.scdl import soft_binned_profile as soft_binned_profile
from rainproof.measures.scores import brier_score as brier_score
from rainproof.measures.scores import log_score as log_score
from rainproof.measures.scores import score_decomposition as score_decomposition
from rainproof.measures.smooth import smooth_calibration_error as smooth_calibration_error
from rainproof.measures.smooth import smooth_ece as smooth_ece

__all__: list[str]
