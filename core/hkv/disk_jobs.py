"""What the disk tier's threads are doing."""

from dataclasses import dataclass

from worldattention.core.hkv.codec import StoredPage
from worldattention.core.hkv.moves import Job, Loan


@dataclass(slots=True, eq=False)
class Write:
    """A page on its way into its file."""

    source: StoredPage
    loan: Loan
    job: Job


@dataclass(slots=True, eq=False)
class Read:
    """A page on its way out of its file; it is the job's result."""

    job: Job
    ahead: bool
