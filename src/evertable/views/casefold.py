"""Unicode's simple case folding, character by character: texts that differ only in case become equal."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

# Turkish i's: their upper or lower case is i, but they fold to themselves only. Noncharacters stand in for them.
_KEPT = {"İ": "\ufdd0", "ı": "\ufdd1"}


def casefold(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Returns the texts without case, each with as many characters as before."""
    if pc.all(pc.string_is_ascii(texts)).as_py() is not False:  # most texts are, and it is much faster
        return pc.ascii_lower(texts)
    for kept, stand_in in _KEPT.items():
        texts = pc.replace_substring(texts, kept, stand_in)
    return pc.utf8_lower(pc.utf8_upper(texts))  # upper case first, because both 's' and 'ſ' have the upper case 'S'


def casefold_text(text: str) -> str:
    """Returns one text without case."""
    return str(casefold(pa.chunked_array([[text]], pa.string()))[0])
