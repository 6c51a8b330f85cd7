from __future__ import annotations

from tests.parity.calls import each
from tests.parity.data.audio.compare import Drawn, Rule

SPECTRA = "spec spec64 specs specs4 batch4 mono scalar empty2 int16 bool16 text nan2"

CASES = [
    *each(
        """
        A.MaskAlongAxis(0, 1, 5.5, 1)
        A.MaskAlongAxis(1, 4, 0, 2)
        A.MaskAlongAxis(2, 1, -3, 2)
        A.MaskAlongAxis(0, 12, 1, 1)
        A.MaskAlongAxis(11, 1, 1, 1)
        A.MaskAlongAxis(11, 2, 1, 1)
        A.MaskAlongAxis(12, 1, 1, 1)
        A.MaskAlongAxis(50, 1, 1, 1)
        A.FrequencyMasking()
        A.FrequencyMasking(False, 2, 1, 3)
        A.FrequencyMasking(False, 6, 0)
        A.FrequencyMasking(False, 0, 6)
        A.FrequencyMasking(False, 0, 60)
        A.FrequencyMasking(False, 3, 5)
        A.FrequencyMasking(False, 100, 5)
        A.TimeMasking()
        A.TimeMasking(False, 2, 1, 3)
        A.TimeMasking(False, 5, 0)
        A.TimeMasking(False, 3, 5)
        A.TimeMasking(False, 100, 5)
        A.FrequencyMasking(True, 0)
        A.TimeMasking(True, 0)
        A.MaskAlongAxisIID(0, 1.0, 1)
        """,
        SPECTRA,
    ),
    *each(
        """
        A.FrequencyMasking(True, 2)
        A.FrequencyMasking(True, 100)
        A.TimeMasking(True, 2)
        A.TimeMasking(True, 100)
        A.MaskAlongAxisIID(2, 1.0, 1)
        A.MaskAlongAxisIID(2, 1.0, 2)
        A.MaskAlongAxisIID(100, 1.0, 1)
        A.MaskAlongAxisIID(100, 1.0, 2)
        """,
        SPECTRA,
    ),
    *each(
        """
        A.MaskAlongAxis("a", 1, 1, 1)
        A.MaskAlongAxis(-1, 1, 1, 1)
        A.MaskAlongAxis(1, 0, 1, 1)
        A.MaskAlongAxis(1, "a", 1, 1)
        A.MaskAlongAxis(1, 1, "a", 1)
        A.MaskAlongAxis(1, 1, 1e10, 1)
        A.MaskAlongAxis(1, 1, 1, 0)
        A.MaskAlongAxis(1, 1, 1, 3)
        A.MaskAlongAxis(1, 1, 1, 1.0)
        A.MaskAlongAxisIID("a", 1, 1)
        A.MaskAlongAxisIID(-1, 1, 1)
        A.MaskAlongAxisIID(1, "a", 1)
        A.MaskAlongAxisIID(1, 1e10, 1)
        A.MaskAlongAxisIID(1, 1, 0)
        A.MaskAlongAxisIID(1, 1, "a")
        A.FrequencyMasking(1)
        A.FrequencyMasking(False, "a")
        A.FrequencyMasking(False, -1)
        A.FrequencyMasking(False, 1.0)
        A.FrequencyMasking(False, 1, -1)
        A.FrequencyMasking(False, 1, "a")
        A.FrequencyMasking(False, 1, 1, -1)
        A.FrequencyMasking(False, 1, 1, "a")
        A.FrequencyMasking(False, 1e10)
        A.FrequencyMasking(False, 2**30)
        A.TimeMasking(None)
        A.TimeMasking(False, "a")
        A.TimeMasking(False, -1)
        A.TimeMasking(False, 1, -1)
        A.TimeMasking(False, 1, 1, -1)
        A.TimeMasking(False, 1, 2**30)
        """,
        "-",
    ),
]

RULES: list[Rule] = [
    Drawn(r"(Masking\(True|IID\()[^0].*\)\((spec|spec64|specs|specs4|batch4|int16|bool16|nan2)\)$"),
]
