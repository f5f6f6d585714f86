# SPDX-License-Identifier: Apache-2.0
"""score.py FOLDER: measure the model in the outputs of a run on the rows that no site has.

Needs numpy and scikit-learn, and no Flower. Ends with 1 if the run measured another accuracy.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tabular import checkpoints, table, task


def main(folder: Path) -> int:
    """Print the accuracy, and what the run said."""
    rows = table.held_out()
    found = task.measure(checkpoints.load(folder / checkpoints.MODEL).arrays, rows)
    last, said = list(json.loads((folder / "metrics.json").read_text(encoding="utf-8")).items())[-1]
    print(
        f"accuracy {found['accuracy']:.4f}, loss {found['loss']:.4f} on the {len(rows.labels)} rows that were held out"
    )
    same = found["accuracy"] == said["accuracy"]
    print(f"the run measured {said['accuracy']:.4f} after round {last}: {'the same' if same else 'NOT the same'}")
    return 0 if same else 1


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
