"""The filter language of docs/FILTERS.md: text → tokens → tree → bound filter → mask of rows."""

from evertable.views.filters.binding import BoundFilter, bind
from evertable.views.filters.parser import parse
from evertable.views.filters.tree import Expression

__all__ = ["BoundFilter", "Expression", "bind", "parse"]
