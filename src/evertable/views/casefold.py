"""Text without case: Unicode's simple case folding, character by character."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

# Turkish i's: their upper and lower case is i, but they fold to themselves alone. The stand-ins are noncharacters.
_KEPT = {"İ": "\ufdd0", "ı": "\ufdd1"}


def casefold(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Makes texts equal that differ in case alone; each keeps its number of characters."""
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:  # much faster, and most texts are
        return pc.ascii_lower(texts)
    for kept, stand_in in _KEPT.items():
        texts = pc.replace_substring(texts, kept, stand_in)
    return pc.utf8_lower(pc.utf8_upper(texts))  # in upper case first: both 's' and 'ſ' have the upper case 'S'


def casefold_text(text: str) -> str:
    """Folds one text."""
    return str(casefold(pa.chunked_array([[text]], pa.string()))[0])
