from rainproof.core.segments import Segments as Segments
from rainproof.io.databases import Table as Table
from rainproof.io.model_answers import read_answers as read_answers
from rainproof.io.sql_statement import sql as sql

__all__: list[str]
