from __future__ import annotations

from tests.parity.calls import Case, each

# the functions give arrays: `(lambda _: array)` makes a call of one
VALUES = """
A.create_dct(13, 40)
A.create_dct(13, 40, A.NormMode.ORTHO)
A.create_dct(30, 20)
A.linear_fbanks(51, 0, 8000, 20, 16000)
A.linear_fbanks(51, 10.5, 6000.0, 20, 11025)
A.linear_fbanks(0, 0, 8000, 20, 16000)
A.linear_fbanks(1, 0, 8000, 20, 16000)
A.melscale_fbanks(51, 0, 8000, 20, 16000)
A.melscale_fbanks(51, 10.5, 7000, 20, 16000, A.NormType.SLANEY)
A.melscale_fbanks(51, 10.5, 7000, 20, 11025, A.NormType.SLANEY, A.MelType.SLANEY)
A.melscale_fbanks(51, 0, 8000, 20, 16000, A.NormType.NONE, A.MelType.SLANEY)
A.melscale_fbanks(0, 0, 8000, 20, 16000)
A.melscale_fbanks(1, 0, 8000, 20, 16000)
A.melscale_fbanks(20, 100, 100, 4, 16000)
"""

CASES = [
    *[Case(f"(lambda _: {line})", ("one",)) for line in VALUES.split("\n") if line],
    *each(
        """
        A.create_dct(0, 40)
        A.create_dct(1.5, 40)
        A.create_dct(13, -1)
        A.create_dct(13, 'a')
        A.create_dct(13, 40, 'ortho')
        A.linear_fbanks(-1, 0, 8000, 20, 16000)
        A.linear_fbanks('a', 0, 8000, 20, 16000)
        A.linear_fbanks(51, -1, 8000, 20, 16000)
        A.linear_fbanks(51, 0, 0, 20, 16000)
        A.linear_fbanks(51, 10, 5, 20, 16000)
        A.linear_fbanks(51, 0, 8000, 0, 16000)
        A.linear_fbanks(51, 0, 8000, 20, 0)
        A.melscale_fbanks(-1, 0, 8000, 20, 16000)
        A.melscale_fbanks(51, 'a', 8000, 20, 16000)
        A.melscale_fbanks(51, 0, -1, 20, 16000)
        A.melscale_fbanks(51, 10, 5, 20, 16000)
        A.melscale_fbanks(51, 0, 8000, 0, 16000)
        A.melscale_fbanks(51, 0, 8000, 20, 1.5)
        A.melscale_fbanks(51, 0, 8000, 20, 16000, 'slaney')
        A.melscale_fbanks(51, 0, 8000, 20, 16000, A.NormType.NONE, 'htk')
        """,
        "-",
    ),
]
