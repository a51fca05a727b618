from rainproof.assessment.clinical import clinical_performance as clinical_performance
from rainproof.assessment.summaries import reliability_curve as reliability_curve
from rainproof.inference.grades import grade_table as grade_table
from rainproof.inference.performance import discrimination as discrimination
from rainproof.inference.performance import net_benefit as net_benefit

__all__: list[str]
