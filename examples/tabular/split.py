# SPDX-License-Identifier: Apache-2.0
"""split.py FOLDER SITE...: write the table of each site, FOLDER/SITE/biopsies.csv. Real sites have their tables already."""

from __future__ import annotations

import sys
from pathlib import Path

from tabular import table


def main(folder: Path, sites: list[str]) -> None:
    """Write the tables."""
    whole, names = table.whole()
    parts, held_out = table.split(whole.labels.tolist(), len(sites))
    for site, rows in zip(sites, parts):
        path = folder / site / table.FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        table.write(path, names, table.Rows(whole.features[rows], whole.labels[rows]))
        print(f"{path}: {len(rows)} rows, {int(whole.labels[rows].sum())} of them malignant")
    print(f"{len(held_out)} rows are held out")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), sys.argv[2:])
