"""CaseFold, NormalizeUTF8, FilterWikipediaXML, to_str and to_bytes."""

from __future__ import annotations

from tests.parity.data.text.cases.case import Better, bad, each
from tests.parity.data.text.inputs import NO_TEXT, ODD, SCRIPTS

_FORMS = """
    T.NormalizeUTF8()
    T.NormalizeUTF8(T.NormalizeForm.NONE)
    T.NormalizeUTF8(T.NormalizeForm.NFC)
    T.NormalizeUTF8(T.NormalizeForm.NFD)
    T.NormalizeUTF8(T.NormalizeForm.NFKC)
    T.NormalizeUTF8(T.NormalizeForm.NFKD)
"""
_PLAIN = "T.CaseFold()\nT.NormalizeUTF8()\nT.FilterWikipediaXML()"

CASES = [
    *each(f"T.CaseFold()\n{_FORMS}", f"{SCRIPTS} {ODD} words grid"),
    *each("T.FilterWikipediaXML()", f"{SCRIPTS} {ODD} words grid wiki wiki_text wiki_link tags"),
    *each(_PLAIN, f"{NO_TEXT} no_words word,word"),
    *bad("T.NormalizeUTF8({})", "5; 'NFC'; None; True"),
    *bad(
        "T.to_str(np.array([b'a', 'é'.encode()]){})",
        "; , 'utf8'; , encoding='latin-1'; , 'ascii'; , 'nope'; , 5",
    ),
    *bad("T.to_bytes(np.array(['a', 'é']){})", "; , 'utf8'; , encoding='latin-1'; , 'ascii'; , 'nope'; , 5"),
    *bad(
        "T.to_str({})",
        "np.array(['a', 'é']); 'a'; b'a'; ['a']; np.array([1]); None; np.array(b'x'); [b'a', b'b']",
    ),
    *bad("T.to_bytes({})", "np.array([b'a']); 'a'; b'a'; ['a', 'b']; np.array([1]); None; np.array('x')"),
    *bad("T.to_str({})", "np.array([[b'a', b'bc'], [b'', b'd']]); np.array([], 'S1'); np.array([b'\\xff'])"),
    *bad("[(form.name, form.value, str(form), isinstance(form, int)) for form in T.NormalizeForm]{}", " "),
]

BETTER = [
    Better(
        r"^T.FilterWikipediaXML\(\)\((french|german|lines|words|grid|list)\)$",
        "R becomes r, empty lines a space, and each text is treated by itself",
    ),
    Better(
        r"^T.to_(str|bytes)\(.*, 5\)|^T.to_str\(np.array\(\['a', 'é'\]\)|to_bytes\(np.array\(\[b'a'",
        "an error that says why",
    ),
    Better(r"^T.to_str\(np.array\(\[\], 'S1'\)\)", "no bytes become no text, not floats"),
]
