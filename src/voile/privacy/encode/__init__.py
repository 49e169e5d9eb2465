"""Private rows of any data frame, turned into numpy columns as a Schema describes them.

Every row is encoded by itself: what becomes of one never depends on another. And no value can
cause an error, a warning or a message; what cannot be read counts as missing or as "other".

========================  =======================================================================
column                    encoded rows, shape (rows,)
========================  =======================================================================
Number(lower, upper)      float64, clamped to the bounds; missing or unreadable: NaN, or the middle
                          with missing=False; rounded with whole=True
Number()                  float64; infinities become the largest float; missing: NaN
Date(lower, upper)        as Number, in seconds since 1970-01-01 UTC: the beginning of the day, or
                          the instant with time=True
Category(L levels)        int32 codes 0 to L - 1; "other" (not listed): L; missing: L + 1, or L with
                          missing=False
Category()                objects: str, int or float; None for missing and for what cannot be a
                          level (infinities, bytes, lists, integers beyond 64 bits, ...)
Identity()                objects: text that tells nothing of an id's type (identity.py); or None
========================  =======================================================================

Text in a numeric column is read as ``float()`` reads it, in a column of dates as a date in ISO 8601
or as 31.12.2024. Dates and times are seconds since 1970-01-01 UTC (without a time zone: taken as
UTC), durations seconds, times of day seconds since midnight; in a categorical column, dates and
times are ISO 8601 text in UTC, such as "2024-01-31" (midnight) or "2024-01-31T08:30:00".
"""

from voile.privacy.encode.column import encode_values, plain_numbers
from voile.privacy.encode.identity import Identity, loosely
from voile.privacy.encode.rows import (
    EncodedRows,
    PickedRows,
    encode_frame,
    encode_rows,
    encode_target,
    pick_rows,
)

__all__ = [
    "EncodedRows",
    "Identity",
    "PickedRows",
    "encode_frame",
    "encode_rows",
    "encode_target",
    "encode_values",
    "loosely",
    "pick_rows",
    "plain_numbers",
]
