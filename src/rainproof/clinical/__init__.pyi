from rainproof.inference.performance import discrimination as discrimination
from rainproof.inference.rating_grades import grade_table as grade_table
from rainproof.verdict.summaries import reliability_curve as reliability_curve

__all__: list[str]
