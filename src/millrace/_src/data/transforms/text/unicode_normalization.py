"""Case folding, Unicode normalization and filtering of Wikipedia's XML."""

from __future__ import annotations

from typing import Annotated, Any

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.data.kernels.text import unicode_normalization as normal
from millrace._src.data.kernels.text.unicode_normalization import NormalizeForm
from millrace._src.data.transforms.argument_types import ArgumentRule

from .base import StringOperation

__all__ = ["CaseFold", "FilterWikipediaXML", "Form", "NormalizeForm", "NormalizeUTF8"]


def _check_form(name: str, value: Any) -> None:
    if not isinstance(value, NormalizeForm):
        raise ArgumentTypeError("Wrong input type for normalization_form, should be enum of 'NormalizeForm'.")


Form = Annotated[Any, ArgumentRule(_check_form)]


@public("dataset.text", "dataset.text.transforms")
class CaseFold(StringOperation):
    """Fold the case of a text, with Unicode's NFKC_Casefold.

    This is more than lower-casing: ß becomes ss, full-width letters and ligatures become plain ones, and ignorable
    characters (soft hyphens, joiners) are removed. Supports arrays of any shape.

    >>> import millrace.dataset.text as text
    >>> text.CaseFold()("Welcome to BEIJING, Straße!")
    array('welcome to beijing, strasse!', dtype='<U28')
    """

    @checked
    def __init__(self) -> None:
        pass

    transform_text = staticmethod(normal.case_fold)


@public("dataset.text", "dataset.text.transforms")
class NormalizeUTF8(StringOperation):
    """Normalize a text to a Unicode normalization form.

    The tables are Python's own: characters that are newer than Unicode 15.1 are normalized as in the running Python,
    where MindSpore leaves them unchanged.

    Args:
        normalize_form (NormalizeForm): the form. Default: ``NormalizeForm.NFKC``.

    >>> import millrace.dataset.text as text
    >>> text.NormalizeUTF8(text.NormalizeForm.NFKC)("ﬁne ２")
    array('fine 2', dtype='<U6')
    """

    @checked
    def __init__(self, normalize_form: Form = NormalizeForm.NFKC) -> None:
        self.normalize_form = NormalizeForm(normalize_form)

    def transform_text(self, text: str) -> str:
        return normal.normalize(text, NormalizeForm(self.normalize_form))


@public("dataset.text", "dataset.text.transforms")
class FilterWikipediaXML(StringOperation):
    """Extract plain words from Wikipedia's XML dump: lower-case letters a to z, digits spelt out, single spaces.

    Tags and entities are removed; a redirect page becomes empty. MindSpore 2.7.0 also removes every capital R,
    may write an n for empty lines, and in an array joins all texts into the first; here R becomes r, empty lines a
    space, and each text is transformed separately.

    >>> import millrace.dataset.text as text
    >>> text.FilterWikipediaXML()("<title>Red</title> Rome has 7 hills &amp; a river")
    array('rome has seven hills a river', dtype='<U28')
    """

    _no_text = "input is not of type string"

    @checked
    def __init__(self) -> None:
        pass

    transform_text = staticmethod(normal.filter_wikipedia)
