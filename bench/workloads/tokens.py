"""Documents of 50 to 2,000 tokens, packed whole into sequences of 2,048 with segment numbers and positions."""

from __future__ import annotations

from typing import Any

from bench import data
from bench.job import Contender, Job, Target

VARIANTS = ()
DOCUMENTS, SHORTEST, LONGEST, LENGTH, BATCH = 20_000, 50, 2_000, 2_048, 8
EPOCHS = 10  # in a run; Grain takes one
WINDOW = 1024 * LENGTH  # tokens; Penstock's own default
GRAIN = ({}, {"bins": 256}, {"bins": 64}, {"fit": "first"}, {"fit": "first", "bins": 64})


def jobs() -> list[Job]:
    options: dict[str, Any] = {
        "tokens": str(data.DATA / "tokens.npy"),
        "splits": str(data.DATA / "tokens-splits.npy"),
        "length": LENGTH,
        "batch": BATCH,
        "epochs": EPOCHS,
    }
    return [
        Job(
            name="tokens",
            title=f"{DOCUMENTS:,} documents of {SHORTEST} to {LONGEST:,} `int32` → packed whole into sequences of "
            f"{LENGTH:,}, with segment numbers and positions → batch {BATCH}.",
            unit="tokens/s",
            contenders=(
                Contender("limit", "limit (C++, 1 thread)", "tokens", {"window": WINDOW, "threads": 1}),
                Contender("limit", "limit (C++, 2 threads)", "tokens", {"window": WINDOW, "threads": 2}),
                Contender("penstock", "Penstock, Ragged documents", "tokens"),
                Contender("penstock", "Penstock, a list of documents", "tokens", {"arrays": True}),
                Contender("grain", "Grain", "tokens", candidates=GRAIN),
            ),
            check=lambda label, checks: check(checks, ends=2 if "2 threads" in label else 1),
            target=Target(of_limit=0.7, efficiency=0.98),
            options=options,
            footnotes=(
                "The limit packs the same windows by the same rule into reused memory.",
                "Penstock hands over all batches in one thread; if there are many sequences, another fills half.",
            ),
            prepare=lambda: data.token_files(DOCUMENTS, SHORTEST, LONGEST),
        )
    ]


def check(checks: dict[str, Any], ends: int) -> list[str]:
    """Check for every document once, in batches of int32; at most `ends` batches may be short."""
    full, shapes = f"int32 ({BATCH}, {LENGTH})", checks["shapes"]
    wrong = {
        f"batches {shapes} instead of {full}": full not in shapes or len(shapes) > 1 + ends,
        f"{checks['records']} different documents, one of them {checks['most']} times": (
            (checks["records"], checks["most"]) != (DOCUMENTS, 1)
        ),
        f"document {checks['last_record']} of {DOCUMENTS}": checks["last_record"] >= DOCUMENTS,
    }
    return [problem for problem, found in wrong.items() if found]
