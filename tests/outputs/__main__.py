"""Compare today's outputs of the papers' methods with the stored ones to the bit: python -m tests.outputs [--write]."""

from __future__ import annotations

import json
import sys
import warnings

from tests import outputs


def main(write: bool) -> int:
    """Print the methods whose outputs differ and return their number, or write all outputs."""
    n_different = 0
    for name in outputs.TABLES:
        today = {method: outputs.output(method, name) for method in outputs.METHODS}
        if write:
            lines = (f"{json.dumps(method)}: {json.dumps(values)}" for method, values in today.items())
            (outputs.FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            continue
        before = outputs.stored(name)
        for method, values in today.items():
            changed = [key for key, value in values.items() if value != before[method][key]]
            n_different += bool(changed)
            if changed:
                print(f"{name}, {method}: {', '.join(changed)} changed")
        print(f"{name}: {len(today)} methods compared", flush=True)
    return n_different


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(min(main("--write" in sys.argv[1:]), 1))
