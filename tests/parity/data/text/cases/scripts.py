"""UnicodeScriptTokenizer."""

from __future__ import annotations

from tests.parity.data.text.cases.case import bad, each
from tests.parity.data.text.inputs import NO_TEXT, ODD, SCRIPTS

CASES = [
    *each(
        """
        T.UnicodeScriptTokenizer()
        T.UnicodeScriptTokenizer(True)
        T.UnicodeScriptTokenizer(keep_whitespace=False, with_offsets=True)
        T.UnicodeScriptTokenizer(True, True)
        """,
        f"{SCRIPTS} {ODD}",
    ),
    *each("T.UnicodeScriptTokenizer()", f"{NO_TEXT} words grid no_words word,word"),
    *bad("T.UnicodeScriptTokenizer({})", "5; 'x'; None; True, 5; True, None"),
]
