"""Every character of Unicode 15.1, between letters or alone: where a text is cut, and what it is folded to."""

from __future__ import annotations

from tests.parity.data.text.cases.case import each

CASES = [
    *each(
        r"""
        T.WhitespaceTokenizer()
        T.UnicodeScriptTokenizer(True)
        T.BasicTokenizer(True, True, with_offsets=True)
        T.BasicTokenizer(normalization_form=T.NormalizeForm.NFKC, preserve_unused_token=False)
        """,
        "every_char",
    ),
    *each(
        """
        T.CaseFold()
        T.NormalizeUTF8(T.NormalizeForm.NFC)
        T.NormalizeUTF8(T.NormalizeForm.NFD)
        T.NormalizeUTF8(T.NormalizeForm.NFKC)
        T.NormalizeUTF8(T.NormalizeForm.NFKD)
        """,
        "chars",
    ),
]
