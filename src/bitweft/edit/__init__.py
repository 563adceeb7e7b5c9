"""Gold links made by hand: kept safely, ordered by what they teach, compared, learned from."""

from bitweft.edit.agreement import Agreement, agreement, disputed, majority
from bitweft.edit.judgment import Judgment
from bitweft.edit.order import teaching_order, uncertainty
from bitweft.edit.store import ConflictError, GoldStore

__all__ = [
    "Agreement",
    "ConflictError",
    "GoldStore",
    "Judgment",
    "agreement",
    "disputed",
    "majority",
    "teaching_order",
    "uncertainty",
]
